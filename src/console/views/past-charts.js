import { useEffect } from 'preact/hooks'
import { call } from '../lib/api.js'
import { Histogram } from '../lib/histogram.js'
import { html } from '../lib/html.js'
import { dateTime, useLoaded, Wait } from '../lib/parts.js'
import { RANGES } from '../lib/range.js'
import { go } from '../lib/router.js'

/** Polling interval (ms) of a span that still changes: without an end, or with a relative one. */
const POLL_INTERVAL = 30_000

/**
 * A longer or earlier span: messages of the journal, and the metrics that the daemon has. `Charts`:
 * the component that shows these.
 */
export function PastCharts({ since, until, Charts }) {
  const range = Object.fromEntries(Object.entries({ since, until }).filter(([, value]) => value !== ''))
  const loaded = useLoaded(
    async (signal) => {
      const known = await call('GET', `/v1/history?${new URLSearchParams(range)}`, undefined, signal)
      return { ...known, at: Date.now() }
    },
    [since, until],
  )
  const { value, reload } = loaded
  const isOver = Date.parse(until) < Date.now()
  useEffect(() => {
    if (isOver) return undefined
    const timer = setInterval(() => document.hidden || reload(), POLL_INTERVAL)
    return () => clearInterval(timer)
  }, [since, until, isOver])
  if (!value) return html`<${Wait} of=${loaded} what="the charts" />`
  const { from, to, at, points: known, every } = value
  const span = {
    since: from,
    until: to ?? at,
    name: RANGES.find(([key]) => key === since)?.[1] ?? 'the chosen time',
    isWhole: true,
  }
  const first = known[0]?.at
  return html`<${Wait} of=${loaded} what="the charts" />
    <figure class="chart volume" aria-label="Messages that came in"><figcaption><b>Messages that came in</b></figcaption>
      <${Histogram} filter=${range} narrow=${(chosen) => go('messages', chosen)} /></figure>
    <${Charts} points=${known} span=${span} every=${every} />
    ${(first === undefined || first > from + 2 * every) && html`<p class="dim">${first === undefined ? 'This daemon knows no rates of this time' : `This daemon knows rates since ${dateTime(first)}`}: it keeps them in memory. The bars are from the journal.</p>`}`
}
