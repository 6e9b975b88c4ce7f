import { computed, signal } from '@preact/signals'
import { skippedInWords } from '../../lib/skipped-in-words.ts'
import { invoke } from './api.js'
import { html } from './html.js'
import { dateTime, span, useLoaded } from './parts.js'
import { localField } from './range.js'
import { SkillPauseEffect } from './skill-use.js'
import { count } from './troubles.js'
import { countWith } from './waiting-messages.js'

/** The effect of each kind of pause; that of a skill depends on who runs it. */
export const WAITS = {
  gateway: 'Its messages are accepted, but wait.',
  route: 'Its messages are accepted, but wait, and so do later ones of the same conversations.',
  conversation: 'Its messages are accepted, but wait: no skill runs for them.',
  schedule: 'Planned times in the pause are not made up later.',
  subscription: 'Nothing more is pushed; its events keep their places.',
}

/** The kinds of pauses that messages wait for. */
export const HOLDS_MESSAGES = new Set(['gateway', 'route', 'skill', 'conversation'])
/** Kinds whose name in the console differs from that of their operations. */
const WORDS = { subscription: 'push' }

/** The kind of a pause, as the console names it. */
export function kindInWords(kind) {
  return WORDS[kind] ?? kind
}

/** The choice that keeps the present end of a pause. */
const AS_BEFORE = 'as before'
/** The choice of the time in the field. */
const CLOCK = 'clock'

/** The other choices for the end of a pause: value and label. */
const ENDS = [
  ['', 'it is resumed'],
  ['15m', 'in 15 minutes'],
  ['1h', 'in an hour'],
  ['4h', 'in 4 hours'],
  ['24h', 'in a day'],
  [CLOCK, 'another time …'],
]

const HOUR = 3_600_000
/** Length of the value of a time field without seconds. */
const TO_MINUTE = 16
/** The longest pause with an end (ms). */
const LONGEST = 24 * 24 * HOUR

/**
 * The form in the dialog before a pause: `body` and `isReady` for `ask`, and `argumentsOf()`, which
 * returns the reason and duration as arguments. `of`: arguments of the operation. `before`: the
 * pause to change, with its reason and end (Unix ms). `isForSeveral`: several objects are paused.
 */
export function pauseForm({ kind, of, name, before, isForSeveral = false }) {
  const now = Date.now()
  const ends = before?.until
    ? [[AS_BEFORE, `as now: in ${span(Math.max(0, before.until - now))}`], ...ENDS]
    : ENDS
  const draft = signal({
    reason: before?.reason ?? '',
    end: ends[0][0],
    clock: localField(now + HOUR).slice(0, TO_MINUTE),
  })
  const fault = computed(() => faultOf(draft.value))
  const body = html`<p>${kind === 'skill' ? html`<${SkillPauseEffect} name=${of.skill} />` : WAITS[kind]}</p>
    ${kind === 'schedule' && html`<${SkippedTimes} id=${of.id} draft=${draft} before=${before} />`}
    ${!before && !isForSeveral && HOLDS_MESSAGES.has(kind) && html`<${Effect} kind=${kind} name=${name} gateway=${of.gateway} />`}
    <${Fields} draft=${draft} fault=${fault} ends=${ends} />`
  const argumentsOf = () => {
    const reason = draft.value.reason.trim()
    const duration = durationOf(draft.value, before?.until)
    return { ...(reason && { reason }), ...(duration && { for: duration }) }
  }
  return { body, isReady: computed(() => fault.value === undefined), argumentsOf }
}

function durationOf({ end, clock }, until) {
  if (end !== AS_BEFORE && end !== CLOCK) return end
  const at = end === CLOCK ? Date.parse(clock) : until
  return `${Math.max(1, Math.round((at - Date.now()) / 1_000))}s`
}

const UNITS = { m: 60_000, h: 3_600_000 }

/** When a pause would end (Unix ms); undefined if it is resumed by hand. */
function endOf({ end, clock }, until) {
  if (end === AS_BEFORE) return until
  if (end === CLOCK) return Date.parse(clock)
  return end === '' ? undefined : Date.now() + Number.parseInt(end, 10) * UNITS[end.at(-1)]
}

/** The planned times that a pause of a schedule would skip, and the run after it. */
function SkippedTimes({ id, draft, before }) {
  const { value } = useLoaded((signal) => invoke('schedule-show', { id }, signal), [id])
  const until = endOf(draft.value, before?.until)
  if (!value || Number.isNaN(until)) return html`<p class="pause-effect" role="status">…</p>`
  const { upcoming } = value
  const end = until ?? Number.POSITIVE_INFINITY
  const toSkip = upcoming.filter((at) => at <= end).length
  const cost = {
    toSkip: until === undefined ? undefined : toSkip,
    // The times after the last one are not known here.
    isMore: toSkip > 0 && toSkip === upcoming.length,
    nextSkipped: upcoming[0],
    nextRun: upcoming.find((at) => at > end),
  }
  return html`<p class="pause-effect" role="status">${skippedInWords(cost, dateTime)}</p>`
}

/** Why a pause cannot end at the time in the field. */
function faultOf({ end, clock }) {
  if (end !== CLOCK) return undefined
  const left = Date.parse(clock) - Date.now()
  if (Number.isNaN(left)) return 'Choose a date and a time.'
  if (left <= 0) return 'This time is past.'
  return left > LONGEST ? 'A pause with an end lasts at most 24 days.' : undefined
}

function Fields({ draft, fault, ends }) {
  const { reason, end, clock } = draft.value
  const set = (change) => {
    draft.value = { ...draft.value, ...change }
  }
  return html`<label>Reason (optional) <input data-confirms maxlength="200" value=${reason} onInput=${(event) => set({ reason: event.target.value })} /></label>
    <fieldset class="ends"><legend>Until</legend>${ends.map(([value, label]) => html`<label key=${value}><input type="radio" name="end" value=${value} checked=${value === end} onChange=${() => set({ end: value })} />${label}</label>`)}</fieldset>
    ${end === CLOCK && html`<label>Date and time <input type="datetime-local" required value=${clock} onInput=${(event) => set({ clock: event.target.value })} /></label><p class="error" role="status">${fault.value}</p>`}`
}

/** What happens to the attempts that run, and how many messages wait already. */
function Effect({ kind, name, gateway }) {
  const { value } = useLoaded(
    () => Promise.all(['running', 'waiting'].map((outcome) => countWith(outcome, { kind, name, gateway }))),
    [],
  )
  const [running, waiting] = value ?? []
  return html`<p class="pause-effect">Running attempts finish${running && `: ${running.many === 0 ? 'none runs' : `${amount(running)} ${running.many === 1 ? 'runs' : 'run'}`} now`}.${waiting && ` ${waitingIn(waiting)}`}</p>`
}

function waitingIn(waiting) {
  if (waiting.many === 0) return 'No message waits yet.'
  const { many, isCut } = waiting
  return `${count(many, 'message', isCut ? '+' : '')} ${many === 1 ? 'waits' : 'wait'} already.`
}

function amount({ many, isCut }) {
  return `${many.toLocaleString('en')}${isCut ? '+' : ''}`
}
