import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { elapsedText, ageText as span } from '../../lib/age-text.ts'
import { html } from './html.js'
import { clock, now, state } from './live.js'
import { Marked } from './marked.js'
import { Modal } from './modal.js'
import { NO_LONGER_NEEDED } from './no-longer-needed.js'

/** A duration, and the time since something: `90 s`, `90 min`, `42 h`, `3 d`. */
export { elapsedText as elapsed, span }

/** A duration as measured: `8 ms`, `1.25 s`, `3 min`. */
export function took(ms) {
  if (ms === undefined) return ''
  return ms < 1_000 ? `${Math.round(ms)} ms` : ms < 60_000 ? `${(ms / 1_000).toFixed(2)} s` : span(ms)
}

/** A duration of a skill's statistics. `≈`: estimated, because not each run is stored. */
export function tookAbout(ms, usage) {
  return ms !== undefined && usage?.isEstimated ? `≈ ${took(ms)}` : took(ms)
}

/** Maximum characters of a text in one line. */
const MAX_LINE = 1_000

/** A text in one line; JSON of webhooks without its punctuation. */
export function preview(text) {
  if (!/^\s*[[{]/.test(text)) return text
  return text
    .slice(0, MAX_LINE)
    .replace(/"\s*:\s*/g, ': ')
    .replace(/[}\]"]*,\s*"?/g, ', ')
    .replace(/["{}[\]]/g, '')
}

/** Marks a message that somebody sent with *Test message*. */
export const TestMark = ({ many }) =>
  html`<${Badge} title="Sent as a test: not counted among the problems">${many === undefined ? 'test' : `${many} test${many === 1 ? '' : 's'}`}<//>`

/**
 * A message in a row: its subject, then the daemon's summary of its body or else its text. An
 * excerpt that a search found elsewhere in the message comes before the text. `wanted`: see
 * `wantedIn`.
 */
export function Gist({ of: { event, subject, summary, text = '', test, excerpt }, wanted }) {
  const said = html`<${Marked} text=${summary ?? preview(text)} wanted=${wanted} />`
  return html`<span class="text">${test && html`<${TestMark} /> `}${event && html`<span class="event">${event}</span>`}${subject && html`<b><${Marked} text=${subject} wanted=${wanted} /></b> `}${excerpt && html`<span class="excerpt"><${Marked} text=${excerpt} wanted=${wanted} /></span> `}${subject || excerpt ? html`<span class="dim">${said}</span>` : said}</span>`
}

/** The time of day here, to the millisecond. */
export function timeOfDay(at) {
  return new Date(at).toLocaleTimeString('en-GB', TIME_OF_DAY)
}

const TIME_OF_DAY = { hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3 }

/** A date and time here: `28 Nov, 22:45:08`. */
export function dateTime(at) {
  return DATE_TIME.format(at)
}

const PARTS = { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit' }
const DATE_TIME = new Intl.DateTimeFormat('en-GB', PARTS)
const FULL = new Intl.DateTimeFormat('en-GB', { ...PARTS, year: 'numeric', timeZoneName: 'short' })

/** A time with its year and zone, for a tooltip: `28 Nov 2026, 22:45:08 CET`. */
export function fullTime(at) {
  return FULL.format(at)
}

/** A date and time here, as an element. */
export function Moment({ at }) {
  return html`<time datetime=${new Date(at).toISOString()} title=${fullTime(at)}>${dateTime(at)}</time>`
}

/** A time as a live age, with the full time on hover. */
export function Age({ at }) {
  const [hours, minutes] = elapsedText(Math.max(0, clock.value - at)).split(' h ')
  return html`<time class="age" datetime=${new Date(at).toISOString()} title=${fullTime(at)}>${minutes ? html`${hours} h<span class="minutes"> ${minutes}</span>` : hours}</time>`
}

/** The kind of badge for each outcome. */
export const OUTCOME_KINDS = {
  done: 'good',
  dead: 'bad',
  dropped: 'dim',
  merged: 'dim',
  retrying: 'warn',
  approval: 'warn',
  replying: 'warn',
  unrouted: 'dim',
  undelivered: 'bad',
  bounced: 'bad',
  suppressed: 'dim',
}

/** A state as a small label. Its colour adds no information. */
export function Badge({ kind, title, children }) {
  return html`<span class=${`badge ${kind ?? 'dim'}`} title=${title}>${children}</span>`
}

/** A text in which backticks mark code. */
export function Words({ text }) {
  return text.split('`').map((part, at) => (at % 2 === 1 ? html`<code key=${at}>${part}</code>` : part))
}

/** What an outcome means, where its name does not say it. */
const OUTCOME_MEANINGS = {
  dropped:
    'Nobody gets it: its dead letter was dropped, a person handles the conversation, or an erasure took it out of the queue',
  merged: 'Handled together with another message',
  unrouted: 'No route matched it',
  undelivered: 'Handled, but the last reply was not delivered',
  bounced: 'The reply came back',
  suppressed: 'Handled, but the reply was not sent',
}

export function Outcome({ outcome }) {
  return html`<${Badge} kind=${OUTCOME_KINDS[outcome] ?? 'busy'} title=${OUTCOME_MEANINGS[outcome]}>${outcome ?? '…'}<//>`
}

export function Empty({ title, children }) {
  return html`<div class="empty"><p class="empty-title">${title}</p><div>${children}</div></div>`
}

export function Problem({ error, retry }) {
  return html`<div class="problem" role="alert">
    <p>${error.message}</p>
    ${retry && html`<button type="button" onClick=${retry}>Try again</button>`}
  </div>`
}

/**
 * The state of data from `useLoaded`: that it is loading, what failed, or that what is shown is
 * old. `what`: the name of the data within a sentence.
 */
export function Wait({ of: { value, error, at, reload }, what }) {
  if (error && value !== undefined)
    return html`<${Problem} error=${{ message: html`What you see of ${what} is <${Age} at=${at} /> old. ${error.message}` }} retry=${reload} />`
  if (error)
    return html`<${Problem} error=${{ message: `Could not load ${what}. ${error.message}` }} retry=${reload} />`
  return value === undefined ? html`<${Loading} />` : null
}

/** Becomes visible after a moment; most data has arrived by then. */
export function Loading() {
  return html`<p class="dim loads" role="status">Loading …</p>`
}

/** Reports that the store is unavailable and that older data is shown. */
export function StoreAway() {
  const { error } = now.value ?? {}
  return error ? html`<${Problem} error=${{ message: `What you see is from before. ${error}` }} />` : null
}

/** Formatted JSON; long values are cut, with a way to see the rest. */
export function Json({ value, label = 'JSON' }) {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '')
  const [whole, setWhole] = useState(false)
  const shown = whole ? text : text.slice(0, 4_000)
  return html`<div class="json">
    <pre tabindex="0" aria-label=${label}>${shown}</pre>
    ${shown.length < text.length && html`<button type="button" onClick=${() => setWhole(true)}>Show all ${text.length} characters</button>`}
  </div>`
}

/** Names and values. Undefined values are omitted. */
export function Facts({ of }) {
  const rows = Object.entries(of).filter(
    ([, value]) => value !== undefined && value !== '' && value !== null && value !== false,
  )
  return html`<dl class="facts">${rows.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}

export function Copy({ text, label = 'Copy' }) {
  const [done, setDone] = useState(false)
  const copy = () =>
    act(async () => {
      if (!navigator.clipboard)
        throw new Error('Browsers only allow copying on pages with HTTPS or on localhost.')
      await navigator.clipboard.writeText(typeof text === 'function' ? text() : text)
      setDone(true)
      setTimeout(() => setDone(false), 1_500)
    })
  return html`<button type="button" onClick=${copy}>${done ? 'Copied' : label}</button>`
}

/** Copies the address of the page, which contains its complete state, or that of the place `to`, which may be a function. */
export function CopyLink({ to }) {
  const place = () => (typeof to === 'function' ? to() : (to ?? location.hash))
  return html`<${Copy} label="Copy link" text=${() => new URL(place(), location.href).href} />`
}

const toast = signal()
let toastTimer

/** Shows a short notice in a corner: a text, or content with a button. */
export function say(text, kind = 'good', message) {
  clearTimeout(toastTimer)
  toast.value = { text, kind, message }
  toastTimer = setTimeout(() => {
    toast.value = undefined
  }, 6_000)
}

export function Toast() {
  return html`<div class="toast-place" role="status">${toast.value && html`<p class=${`toast ${toast.value.kind}`}>${toast.value.text}${toast.value.message && html` <a href=${toast.value.message}>See the message</a>`}</p>`}</div>`
}

const question = signal()
let questions = 0

/**
 * Asks for confirmation. Resolves with true if confirmed. `title` names the action and its object.
 * `about`: what comes before
 * the body. `action` is the label of the button that confirms, `leave` that of the other. `danger` marks
 * irreversible actions, which Enter does not confirm. Ctrl+Enter confirms every question. `isReady`: a
 * signal that is false while there is nothing to confirm; the body explains why, or `missing`, a
 * signal with the next step. `needsCtrl`: Enter does not confirm in a field, either. A `body`
 * that has the buttons
 * itself is a function of `answer`, which resolves the question; `byEnter()` is the answer of Enter.
 */
export function ask({ leave = 'Cancel', danger = false, ...asked }) {
  return new Promise((resolve) => {
    question.value = { ...asked, key: questions++, leave, danger, resolve }
  })
}

/** Runs an action and shows its result: `work` returns the text, and may throw. */
export async function act(work) {
  try {
    const text = await work()
    if (text) say(text)
    return true
  } catch (error) {
    say(error.message, 'bad')
    return false
  }
}

/**
 * `[isBusy, once]`: `once(work)` does nothing while an earlier call is running, so that a second
 * click has no effect. The button has `aria-disabled=${isBusy}`: with `disabled` it would lose the
 * focus, also that of a closing question, and with it the next key.
 */
export function useOnce() {
  const [isBusy, setBusy] = useState(false)
  const isRunning = useRef(false)
  const set = (value) => {
    isRunning.current = value
    setBusy(value)
  }
  const once = async (work) => {
    if (isRunning.current) return
    set(true)
    await work().finally(() => set(false))
  }
  return [isBusy, once]
}

export function Question() {
  const asked = question.value
  if (!asked) return null
  const end = (answer) => {
    if (question.peek() === asked) question.value = undefined
    asked.resolve(answer)
  }
  // Enter in a field confirms. For an irreversible action, only in a field with `data-confirms`.
  const isReady = asked.isReady?.value ?? true
  const confirms = asked.danger && !asked.needsCtrl ? '[data-confirms]' : 'input'
  const confirm = () => {
    if (isReady && (asked.action || asked.byEnter)) end(asked.byEnter?.() ?? true)
  }
  const key = (event) => {
    if (event.key !== 'Enter' || event.isComposing || !event.target.matches(confirms)) return
    event.preventDefault()
    if (!asked.needsCtrl) confirm()
  }
  // Enter on the other button would close the dialog as if it was confirmed.
  const start = (dialog) =>
    isReady && !asked.danger && !asked.needsCtrl ? dialog.querySelector('button.primary.confirms') : dialog
  return html`<${Modal} key=${asked.key} class="question" aria-labelledby="question-title" onKeyDown=${key} confirm=${confirm} start=${start} leave=${() => end(false)}>
    <h2 id="question-title">${asked.title}</h2>
    <div class="question-body">${asked.about}${typeof asked.body === 'function' ? asked.body(end) : asked.body}</div>
    <div class="buttons">
      ${asked.missing?.value && html`<span class="missing dim">${asked.missing.value}</span>`}
      <button type="button" onClick=${() => end(false)}>${asked.leave}</button>
      ${asked.action && html`<button type="button" class=${`confirms ${asked.danger ? 'danger' : 'primary'}`} disabled=${!isReady} aria-keyshortcuts="Control+Enter" onClick=${confirm}>${asked.action} <kbd class="wide" aria-hidden="true">Ctrl Enter</kbd></button>`}
    </div>
  <//>`
}

/**
 * Loads with `load(signal)` whenever one of `needs` changes: `{ value, error, at, reload }`, where
 * `at` is when the value arrived. The old value stays until the new one arrives. A failed load is
 * repeated when the daemon is back.
 */
export function useLoaded(load, needs) {
  const [held, setHeld] = useState({})
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    const end = new AbortController()
    load(end.signal).then(
      (value) => !end.signal.aborted && setHeld({ value, at: Date.now() }),
      (error) =>
        !end.signal.aborted && error.name !== 'AbortError' && setHeld((last) => ({ ...last, error })),
    )
    return () => end.abort(NO_LONGER_NEEDED)
  }, [...needs, turn])
  const reload = () => setTurn((last) => last + 1)
  const isLive = state.value === 'live'
  useEffect(() => {
    if (isLive && held.error) reload()
  }, [isLive])
  return { ...held, reload }
}
