import { useEffect, useRef, useState } from 'preact/hooks'
import { bodyText } from '../../lib/body-text.ts'
import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { Age, Copy, Outcome, took, useLoaded, Wait } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { noteTest } from '../lib/tests.js'
import { MessageState } from './message-state.js'
import { Timeline } from './message-timeline.js'
import { TestFacts } from './test-facts.js'
import { gistOf, gone, isGone, MESSAGE_GONE, msOf, OPEN, withOutcome } from './test-outcome.js'
import { Stop } from './test-stop.js'

/** Polling interval (ms) until the outcome is final. */
const POLL_INTERVAL = 500
/** How long (ms) to poll. */
const MAX_POLL_TIME = 600_000
/** How long (ms) to wait for a reply after the outcome `done`. */
const REPLY_TIME = 5_000
/** How long (ms) after the outcome the other roads are watched, and how often. */
const WATCHED = { for: 60_000, every: 2_000 }

/**
 * The result of a test: its outcome, why it waits or failed, its reply, what took it, and its
 * timeline. `edit`: leads back to the form, if that is out of view.
 */
export function TestResult({ test, again, edit }) {
  const { id, at } = test
  const loaded = useLoaded((signal) => invoke('message-show', { id }, signal), [id])
  const { value: shown, error, reload } = loaded
  const [isOpen, setOpen] = useState(false)
  const endedAt = useRef()
  useEffect(() => {
    endedAt.current = undefined
  }, [id])
  useEffect(() => {
    if (shown) noteTest(withOutcome(test, shown))
    if (!OPEN.has(shown?.outcome)) endedAt.current ??= Date.now()
    const isOver = repliesOf(shown).length > 0 || Date.now() - endedAt.current > REPLY_TIME
    const isWatched = Date.now() - endedAt.current < WATCHED.for
    if (
      isGone(error) ||
      (!OPEN.has(shown?.outcome) && isOver && !isWatched) ||
      Date.now() - at > MAX_POLL_TIME
    )
      return
    const timer = setTimeout(reload, isOver && endedAt.current ? WATCHED.every : POLL_INTERVAL)
    return () => clearTimeout(timer)
  }, [shown, error])
  const isLost = isGone(error)
  useEffect(() => {
    if (isLost) noteTest(gone(test))
  }, [isLost])
  if (isLost) return html`<h2>Result</h2><p class="dim">${MESSAGE_GONE}</p>`
  if (!shown) return html`<h2>Result</h2><${Wait} of=${loaded} what="what became of it" />`
  const { outcome } = shown
  const ms = OPEN.has(outcome) ? undefined : msOf(shown)
  return html`<h2>Result</h2>
    <p class="test-head"><${Outcome} outcome=${outcome} /> ${ms !== undefined && html`<span>${outcome === 'done' ? 'in' : 'after'} ${took(ms)}</span> `}<span class="dim">at ${test.gateway}, sent <${Age} at=${at} /> ago</span></p>
    <p class="one-line"><a href=${link(['messages', id])} title="See the message">${gistOf(test) || id}</a></p>
    <${MessageState} shown=${shown} />
    <${Said} of=${shown} />
    <${TestFacts} of=${shown} test=${test} />
    <div class="buttons"><button changes type="button" onClick=${again}>Send again</button>${edit && html`<button type="button" onClick=${edit}>Edit ↑</button>`}<${Stop} id=${id} outcome=${outcome} done=${reload} /><${Copy} label="Copy as curl" text=${asCurl(test.draft)} /></div>
    <details onToggle=${(event) => setOpen(event.target.open)}><summary>Timeline</summary>${isOpen && html`<${Timeline} shown=${shown} />`}</details>`
}

/** The replies of a test; without one, what the skill returned. */
function Said({ of: shown }) {
  const replies = repliesOf(shown)
  if (replies.length > 0)
    return replies.map(
      ({ detail }, index) =>
        html`<pre key=${index} class="body" tabindex="0" aria-label="Reply">${detail.text}</pre>`,
    )
  const { returned } = shown.history.findLast(({ what }) => what === 'done')?.detail ?? {}
  return (
    returned &&
    html`<p class="dim">Returned, not sent:</p><pre class="body" tabindex="0" aria-label="What it returned">${bodyText(returned)}</pre>`
  )
}

function asCurl(draft) {
  const body = JSON.stringify({ ...draft, test: true, wait: 15_000 }).replaceAll("'", `'\\''`)
  return `curl ${location.origin}/v1/messages -H "authorization: Bearer $TRIVIUM_TOKEN" -H 'content-type: application/json' -d '${body}'`
}

function repliesOf(shown) {
  return (shown?.history ?? []).filter(({ road, detail }) => road === 'outbox' && detail?.text)
}
