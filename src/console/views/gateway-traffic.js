import { useEffect, useState } from 'preact/hooks'
import { invoke } from '../lib/api.js'
import { Figure } from '../lib/figure.js'
import { html } from '../lib/html.js'
import { percent } from '../lib/money.js'
import { NO_LONGER_NEEDED } from '../lib/no-longer-needed.js'
import { Age, dateTime } from '../lib/parts.js'
import { instant, RANGES, Range } from '../lib/range.js'
import { go, link } from '../lib/router.js'
import { amount, sumOf, TimeBars } from '../lib/time-bars.js'

/** The range without one in the address. */
const NORMAL = '1h'
/** Interval (ms) of updates: a long range changes slowly, and costs more. */
const POLL_INTERVAL = 10_000
const SLOW_INTERVAL = 60_000
const FAST_RANGES = new Set(['15m', '1h', '6h'])
/** Maximum number of calls for one history, after which older messages stay uncounted. */
const MAX_CALLS = 40
/** The outcomes of messages that failed. */
const FAILED = 'dead,undelivered'

/**
 * Messages, failed ones and refusals of a gateway over time. `traffic`: of the last hour.
 * `isRefusing`: now.
 */
export function TrafficOverTime({ name, query, set, traffic, isRefusing }) {
  const { since = '', until = '' } = query
  const { history, error } = useHistory(name, { since: since || NORMAL, until })
  return html`<section class="traffic-over-time" aria-labelledby="traffic">
    <header class="bar"><h2 id="traffic">Traffic</h2><div class="filter"><${Range} query=${query} set=${set} ranges=${RANGES} normal=${NORMAL} /></div></header>
    ${error && html`<p class="problem">The traffic could not be read: ${error.message} Trying again.</p>`}
    ${history ? html`<${Shown} name=${name} of=${history} traffic=${traffic} isRefusing=${isRefusing} />` : html`<p class="dim loads">${!error && 'Counting …'}</p>`}
  </section>`
}

function Shown({ name, of, traffic: { perMinute, lastAt, searchedTo } = {}, isRefusing }) {
  const { from, width, accepted, failed, refused, countedTo, refusalsFrom } = of
  const [messages, failures, refusals] = [accepted, failed, refused].map(sumOf)
  const to = from + accepted.length * width
  const filter = { gateway: name, since: instant(from), until: to >= Date.now() ? '' : instant(to) }
  const more = countedTo === undefined ? '' : '+'
  const ofMessages = { title: 'Messages', counts: accepted, bad: failed, badWord: 'failed' }
  const ofRefusals = { title: 'Refused deliveries', counts: refused, bad: refused }
  return html`<div class="figures-row">
      <${Figure} name="Messages" value=${messages === 0 ? `0${more}` : html`<a href=${link('messages', filter)}>${amount(messages)}${more}</a>`} note="arrived in this time" />
      <${Figure} name="Failed" isBad=${failures > 0} value=${failures === 0 ? `0${more}` : html`<a href=${link('messages', { ...filter, outcome: FAILED })}>${amount(failures)}${more} (${percent(failures / messages)})</a>`} note="of these" />
      <${Figure} name="Refused" isBad=${refusals > 0 && isRefusing} value=${refusals === 0 ? '0' : `${amount(refusals)} (${percent(refusals / (refusals + messages))})`} />
      <${Figure} name="A minute, now" value=${perMinute === undefined ? '…' : perMinute.toLocaleString('en')} />
      <${Figure} name="Last message" value=${lastAt !== undefined ? html`<${Age} at=${lastAt} /> ago` : searchedTo === undefined ? 'none yet' : html`none for <${Age} at=${searchedTo} />`} />
    </div>
    <${TimeBars} of=${ofMessages} from=${from} width=${width} countedTo=${countedTo} choose=${(at) => go('messages', { gateway: name, since: instant(from + at * width), until: instant(from + (at + 1) * width) })} />
    ${refusals > 0 && html`<${TimeBars} of=${ofRefusals} from=${from} width=${width} />`}
    ${countedTo !== undefined && html`<p class="dim">Messages before ${dateTime(countedTo)} are not counted yet.</p>`}
    ${refusalsFrom !== undefined && html`<p class="dim">Refusals are known since ${dateTime(refusalsFrom)}.</p>`}`
}

/**
 * The history of a gateway, read again while the page is shown. The first one appears after each
 * call that adds older messages; later ones when they are complete.
 */
function useHistory(gateway, { since, until }) {
  const [found, setFound] = useState({})
  const key = JSON.stringify([gateway, since, until])
  useEffect(() => {
    let timer
    let isFirst = true
    const abort = new AbortController()
    const use = (history) => setFound({ key, history })
    const load = async () => {
      const range = { since, ...(until && { until }) }
      use(await readAll({ gateway, ...range }, abort.signal, isFirst ? use : () => {}))
      isFirst = false
    }
    const refresh = async () => {
      if (!document.hidden)
        await load().catch(
          (error) =>
            abort.signal.aborted || setFound((last) => ({ ...(last.key === key && last), key, error })),
        )
      const interval = FAST_RANGES.has(since) ? POLL_INTERVAL : SLOW_INTERVAL
      if (!abort.signal.aborted) timer = setTimeout(refresh, interval)
    }
    refresh()
    return () => {
      abort.abort(NO_LONGER_NEEDED)
      clearTimeout(timer)
    }
  }, [key])
  return found.key === key ? found : {}
}

/**
 * Reads a history; messages that one call could not count are added by further calls. `show` gets
 * it after each of them.
 */
async function readAll(args, signal, show) {
  const read = async (more) => {
    const [{ history }] = await invoke('gateway-traffic', { ...args, ...more }, signal)
    return history
  }
  let known = await read({})
  for (let calls = 1; known.countedTo !== undefined && calls < MAX_CALLS; calls++) {
    show(known)
    const { from, width, countedTo } = known
    const older = await read({ since: instant(from), until: instant(countedTo), width })
    const added = (counts, field) => counts.map((many, at) => many + (older[field][at] ?? 0))
    const accepted = added(known.accepted, 'accepted')
    const failed = added(known.failed, 'failed')
    known = { ...known, accepted, failed, countedTo: older.countedTo }
  }
  return known
}
