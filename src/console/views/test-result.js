import { useEffect, useRef, useState } from 'preact/hooks'
import { IN_PROGRESS } from '../../lib/outcomes.ts'
import { invoke } from '../lib/api.js'
import { causeOf } from '../lib/cause.js'
import { deliveryOf } from '../lib/event-delivery.js'
import { html } from '../lib/html.js'
import { changes } from '../lib/live.js'
import { Age, act, Badge, Copy, Outcome, preview, took, useLoaded, useOnce, Wait } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { forgetTests, noteTest, tests } from '../lib/tests.js'
import { MessageState } from './message-state.js'
import { Timeline } from './message-timeline.js'

/** Polling interval (ms) until the outcome is final. */
const POLL_INTERVAL = 500
/** How long (ms) to poll. */
const MAX_POLL_TIME = 600_000
/** How long (ms) to wait for a reply after the outcome `done`. */
const REPLY_TIME = 5_000
/** How long (ms) after the outcome the other roads are watched, and how often. */
const WATCHED = { for: 60_000, every: 2_000 }
/** Interval (ms) at which the tests of the list are compared with the daemon. */
const LOOK_UP_INTERVAL = 5_000
/** Conversations of tests without one begin with this. */
const OWN_CONVERSATION = 'cli-'
const OPEN = new Set([undefined, ...IN_PROGRESS, 'approval'])

/** The result of a test: its outcome, replies, roads and timeline. */
export function TestResult({ test, again }) {
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
  const { message, outcome, history } = shown
  const replies = repliesOf(shown)
  const ran = history.findLast(({ road, detail }) => road === 'dispatch' && detail?.route)?.detail
  return html`<h2>Result</h2>
    <p class="dim">The test at ${test.gateway} <${Age} at=${at} /> ago: ${gistOf(test)}</p>
    <p><${Outcome} outcome=${outcome} /> ${!OPEN.has(outcome) && html`<span class="dim">after ${took(msOf(shown))}${ran?.route ? `, by the route ${ran.route}` : ''}</span> `}<a href=${link(['messages', id])}>See the message</a>${!message.conversation.startsWith(OWN_CONVERSATION) && html`, in the conversation <a href=${link(['conversations', message.gateway, message.conversation])}>${message.conversation}</a>`}</p>
    <${MessageState} shown=${shown} />
    <${Roads} of=${shown} route=${ran?.route ?? test.route} />
    ${replies.map(({ detail }, index) => html`<pre key=${index} tabindex="0" aria-label="Reply">${detail.text}</pre>`)}
    ${replies.length === 0 && !OPEN.has(outcome) && html`<p class="dim">No reply.</p>`}
    <div class="buttons"><button changes type="button" onClick=${again}>Send again</button><${Copy} label="Copy as curl" text=${asCurl(test.draft)} /><${Stop} id=${id} outcome=${outcome} done=${reload} /></div>
    <details onToggle=${(event) => setOpen(event.target.open)}><summary>Timeline</summary>${isOpen && html`<${Timeline} shown=${shown} />`}</details>`
}

/** What *Stop* did, by the outcome before. */
const STOPPED = {
  running: 'The test ends without another attempt.',
  retrying: 'The test ends without another attempt.',
  waiting: 'The test ends. No skill ran for it.',
  approval: 'The test ends. Its request is denied.',
}

/** Ends a test that fails, runs or waits, without another attempt and without a dead letter. */
function Stop({ id, outcome, isSmall, done }) {
  const [isBusy, once] = useOnce()
  const isDead = outcome === 'dead'
  if (!isDead && !STOPPED[outcome]) return null
  const stop = () =>
    act(async () => {
      const result = isDead
        ? await invoke('dead-letter-drop', { id, queue: 'dispatch', reason: REASON })
        : await invoke('run-cancel', { messageId: id, drop: true, reason: REASON })
      changes.dead.value++
      if (isDead) return 'The dead letter of the test is dropped.'
      return result.cancelled ? STOPPED[outcome] : `The test was not stopped; it is ${result.outcome}.`
    }).then(done)
  return html`<button changes type="button" class=${isSmall ? 'small' : ''} aria-disabled=${isBusy} onClick=${() => once(stop)}>${isDead ? 'Drop' : 'Stop'}</button>`
}

const REASON = 'the test is no longer needed'

const MESSAGE_GONE = 'Its message is no longer kept: it was erased, or is too old.'

const isGone = (error) => error?.code === 'message_not_found'

/** A test whose message is not kept any more: then its text is not kept here, either. */
function gone({ key, at, gateway, id, route }) {
  return { key, at, gateway, id, route, values: {}, isGone: true }
}

/** Reads the outcome of a test. */
async function lookUp(test) {
  try {
    noteTest(withOutcome(test, await invoke('message-show', { id: test.id })))
  } catch (error) {
    if (isGone(error)) noteTest(gone(test))
  }
}

/** Looks up the tests whose outcomes are not those of the list. */
async function lookUpChanged() {
  const known = tests.peek().filter((test) => !test.isGone)
  if (known.length === 0) return
  const found = await invoke('message-attempts', { ids: known.map(({ id }) => id) }).catch(() => undefined)
  if (!found) return
  const outcomes = new Map(found.map(({ id, outcome }) => [id, outcome]))
  await Promise.all(known.filter(({ id, outcome }) => outcomes.get(id) !== outcome).map(lookUp))
}

/** A test and its result. */
function withOutcome(test, shown) {
  const { outcome } = shown
  const failed = shown.history.findLast(({ road, detail }) => road === 'dispatch' && detail?.error)
  const isFailing = outcome === 'dead' || outcome === 'retrying'
  const error = isFailing && failed ? causeOf(failed.detail.error).slice(0, MAX_ERROR) : undefined
  return { ...test, outcome, ms: OPEN.has(outcome) ? undefined : msOf(shown), error }
}

/** Maximum characters of an error in the list. */
const MAX_ERROR = 200

function gistOf({ values: { event, text = '' } }) {
  return `${event ? `${event} ` : ''}${preview(text)}`.slice(0, 120)
}

/** The state of the message on each road. */
function Roads({ of: { outcome, receive, events = [], pushes = [], running }, route }) {
  // A push has one entry: that of its group.
  const receivers = events.map(
    (one) =>
      html`<li key=${one.group}>${one.push && 'push '}${one.group} <${Badge} kind=${deliveryOf(one).kind}>${deliveryOf(one).text}<//> <span class="dim">${lastAttempt(one, pushes)}</span></li>`,
  )
  const got = events.filter((one) => deliveryOf(one).kind === 'good').length
  return html`<dl class="facts roads" aria-label="The three roads">
    <div><dt>dispatch</dt><dd>${route ? html`route ${route} ` : 'no route matches '}<${Outcome} outcome=${outcome} />${running?.attempt > 1 && html` <span class="dim">attempt ${running.attempt}</span>`}</dd></div>
    <div><dt>receive</dt><dd>${receive?.by ? `taken by ${receive.by}` : receive?.state === 'waiting' ? 'no worker has taken it' : (receive?.state ?? 'not kept')}</dd></div>
    <div><dt>events</dt><dd>${receivers.length === 0 ? 'no consumer group, no push' : html`<span class="dim">${got} of ${receivers.length} got it</span><ul class="plain">${receivers}</ul>`}</dd></div>
  </dl>`
}

/** The answer to the last attempt of a push, and how long it took. */
function lastAttempt({ group, push }, pushes) {
  const last = push && pushes.findLast(({ subscription }) => subscription === group)
  return last && [last.status, last.ms !== undefined && took(last.ms), last.reason].filter(Boolean).join(', ')
}

function repliesOf(shown) {
  return (shown?.history ?? []).filter(({ road, detail }) => road === 'outbox' && detail?.text)
}

/** The time from the acceptance to the last entry of the history. */
function msOf({ history }) {
  const notes = history.filter(({ road }) => road === 'accept' || road === 'dispatch' || road === 'outbox')
  return notes.length > 1 ? notes.at(-1).at - notes[0].at : undefined
}

function asCurl(draft) {
  const body = JSON.stringify({ ...draft, wait: 15_000 }).replaceAll("'", `'\\''`)
  return `curl ${location.origin}/v1/messages -H "authorization: Bearer $TRIVIUM_TOKEN" -H 'content-type: application/json' -d '${body}'`
}

/** The tests of this browser, newest first. */
export function TestHistory({ load, again, see }) {
  const all = tests.value
  useEffect(() => {
    void lookUpChanged()
    const timer = setInterval(() => document.hidden || lookUpChanged(), LOOK_UP_INTERVAL)
    return () => clearInterval(timer)
  }, [])
  if (all.length === 0) return null
  return html`<header class="bar tests-head"><h2>Tests of this browser</h2><button type="button" class="small" onClick=${forgetTests}>Forget them</button></header>
    <div class="scrolls" tabindex="0" role="region" aria-label="Tests of this browser"><table class="tests">
      <thead><tr><th scope="col">when</th><th scope="col">gateway</th><th scope="col">what</th><th scope="col">outcome</th><th scope="col">route</th><th scope="col" class="number">took</th><th scope="col"><span class="unseen">actions</span></th></tr></thead>
      <tbody>${all.map((test) => html`<${TestRow} key=${test.key} of=${test} actions=${{ load, again, see }} />`)}</tbody></table></div>`
}

function TestRow({ of: test, actions: { load, again, see } }) {
  const { at, gateway, id, outcome, route, ms, error } = test
  const byRoute = html`<td>${route ?? html`<span class="dim">none</span>`}</td>`
  if (test.isGone)
    return html`<tr><td><${Age} at=${at} /></td><td>${gateway}</td><td class="gist dim">${MESSAGE_GONE}</td><td></td>${byRoute}<td></td><td></td></tr>`
  return html`<tr><td><${Age} at=${at} /></td><td>${gateway}</td>
    <td class="gist"><a data-row href=${link(['messages', id])}>${gistOf(test)}</a>${error && html`<span class="error">${error}</span>`}</td>
    <td><${Outcome} outcome=${outcome ?? 'waiting'} /></td>${byRoute}<td class="number">${took(ms)}</td>
    <td><div class="buttons"><${Stop} isSmall id=${id} outcome=${outcome} done=${() => lookUp(test)} /><button type="button" class="small" onClick=${() => see(test)}>See result</button><button type="button" class="small" onClick=${() => load(test)}>Edit</button><button changes type="button" class="small" onClick=${() => again(test)}>Send again</button></div></td></tr>`
}
