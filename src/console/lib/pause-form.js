import { computed, signal } from '@preact/signals'
import { heldLaterText, requestsOfCallers } from '../../lib/held-later.ts'
import { skippedInWords } from '../../lib/skipped-in-words.ts'
import { invoke } from './api.js'
import { authorOf } from './authors.js'
import { html } from './html.js'
import { clock, isNarrow, now } from './live.js'
import { openEnd } from './open-end.js'
import { Age, dateTime, span, useLoaded } from './parts.js'
import { endingAt, endsOf, faultOf, firstTime, otherZone, shorterBy } from './pause-ends.js'
import { SkillPauseEffect } from './skill-use.js'
import { TakeOverFields } from './take-over-form.js'
import { count } from './troubles.js'
import { countWith } from './waiting-messages.js'

/** The effect of each kind of pause; that of a skill depends on who runs it. */
export const WAITS = {
  gateway: 'Its messages are accepted, but wait.',
  route: 'Its messages are accepted, but wait, and so do later ones of the same conversations.',
  conversation: 'New messages are accepted, but wait: no skill runs for them.',
  schedule: 'Planned times in the pause are not made up later.',
  subscription: 'Nothing more is pushed; its events keep their places.',
}

const MINUTE = 60_000

/** The kinds of pauses that messages wait for. */
export const HOLDS_MESSAGES = new Set(['gateway', 'route', 'skill', 'conversation'])
/** Kinds whose name in the console differs from that of their operations. */
const WORDS = { subscription: 'push' }

/** The kind of a pause, as the console names it. */
export function kindInWords(kind) {
  return WORDS[kind] ?? kind
}

/**
 * The question before a pause: `body` for `ask`, whose answers are the arguments of the operation
 * (reason and duration), and what Enter does. Each end is a button that answers; of a take-over, a
 * choice. `of`: arguments of
 * the operation. `before`: the pause to change, with its reason and end (Unix ms). `isForSeveral`:
 * several objects are paused. `action`: a word for the pause.
 */
export function pauseForm({ kind, of, name, before, isForSeveral = false, action }) {
  const draft = signal({ reason: before?.reason ?? '' })
  const isTaken = kind === 'conversation'
  const ends = endsOf(`until ${openEnd(kind)}`, before, isTaken)
  const fault = computed(() => (draft.value.time === undefined ? undefined : faultOf(draft.value.time)))
  const upcoming = kind === 'schedule' ? plannedTimes(of.id) : undefined
  const argumentsOf = (end) => {
    const reason = draft.value.reason.trim()
    // The reason of before stays without one, so that it is removed by an empty one.
    return { ...((reason || before) && { reason }), ...end.args() }
  }
  const usual = () =>
    otherEnd(draft.value) ?? ends[draft.value.end] ?? ends.find(({ isDefault }) => isDefault)
  const isChoice = isTaken && !before
  const does = kind === 'skill' ? html`<${SkillPauseEffect} name=${of.skill} />` : WAITS[kind]
  const body = (answer) => html`<div class=${`pause-does of-${kind}`}>${does}</div>
    ${before && kind === 'conversation' && html`<p class="pause-effect">${authorOf(before.by)} has taken it over. If somebody else changes this, the take-over becomes theirs.</p>`}
    ${upcoming && html`<${NextPlanned} of=${upcoming} />`}
    ${!before && !isForSeveral && HOLDS_MESSAGES.has(kind) && html`<${Effect} kind=${kind} name=${name} gateway=${of.gateway} />`}
    ${!before && kind === 'subscription' && html`<${PushEffect} name=${name} />`}
    ${isChoice ? html`<${TakeOverFields} ...${{ draft, ends, fault }} />` : html`<${Fields} ...${{ draft, ends, fault, upcoming, action, before }} choose=${(end) => answer(argumentsOf(end))} />`}`
  return {
    ...{ body, byEnter: () => argumentsOf(usual()), isReady: computed(() => fault.value === undefined) },
    ...(isChoice && { action }),
  }
}

/** The end in the field of another time; undefined while it is closed. */
function otherEnd({ time }) {
  return time === undefined ? undefined : endingAt('', Date.parse(time))
}

/** The next planned times of a schedule, as a signal: null if they cannot be read. */
function plannedTimes(id) {
  const upcoming = signal()
  invoke('schedule-show', { id }).then(
    (shown) => {
      upcoming.value = shown.upcoming
    },
    () => {
      upcoming.value = null
    },
  )
  return upcoming
}

function NextPlanned({ of: { value: times } }) {
  if (times === null) return null
  return html`<p class="pause-effect" role="status">${times ? nextInWords(times) : '…'}</p>`
}

function nextInWords([next]) {
  return next === undefined ? 'It has no further planned time.' : `The next one is at ${dateTime(next)}.`
}

/** The planned times that a pause until a time (Unix ms) skips: how many, and the run after it. */
function skippedUntil(until, upcoming) {
  const toSkip = upcoming.filter((at) => at <= until).length
  return {
    toSkip,
    // The times after the last one are not known here.
    isMore: toSkip > 0 && toSkip === upcoming.length,
    nextSkipped: upcoming[0],
    nextRun: upcoming.find((at) => at > until),
  }
}

/** `13 h shorter`, below an end before that of the pause to change. */
function Shortens({ end, before }) {
  const by = shorterBy(end.endsAt(), before?.until)
  return by !== undefined && html`<small>${span(by)} shorter</small>`
}

/** Changes every minute, and with it the times on the buttons. */
const minute = computed(() => Math.floor(clock.value / MINUTE))

/** `skips 3 times`, below the end of a pause. */
function Skips({ end, upcoming }) {
  const until = end.endsAt()
  if (!upcoming?.value?.length) return null
  if (until === undefined) return html`<small>skips all times</small>`
  const { toSkip, isMore } = skippedUntil(until, upcoming.value)
  return html`<small>skips ${toSkip === 0 ? 'none' : count(toSkip, 'time', isMore ? '+' : '')}</small>`
}

function Fields({ draft, ends, fault, upcoming, action, before, choose }) {
  const { reason, time } = draft.value
  const set = (change) => {
    draft.value = { ...draft.value, ...change }
  }
  const isOpen = time !== undefined
  const zone = otherZone()
  void minute.value
  return html`<label>Reason (optional) <input data-confirms autofocus=${!isNarrow.peek()} maxlength="200" value=${reason} onInput=${(event) => set({ reason: event.target.value })} /></label>
    <fieldset class=${`pause-ends ${upcoming ? 'with-skips' : ''}`}><legend>${action}${zone && html` <small class="dim">(times in ${zone})</small>`}</legend>
      ${ends.map((end, at) => html`<button key=${at} type="button" class=${end.isDefault && !isOpen ? 'primary' : ''} autofocus=${end.isDefault && isNarrow.peek()} onClick=${() => choose(end)}>${end.label}<${Shortens} end=${end} before=${before} /><${Skips} end=${end} upcoming=${upcoming} /></button>`)}
      <button type="button" aria-expanded=${isOpen} onClick=${() => set({ time: isOpen ? undefined : firstTime(before?.until) })}>until …</button>
    </fieldset>
    ${isOpen && html`<${OtherTime} ...${{ time, fault, upcoming, action, before, set, choose }} />`}`
}

/** The field of another time, and the button that takes it. */
function OtherTime({ time, fault, upcoming, action, before, set, choose }) {
  const until = Date.parse(time)
  const by = shorterBy(until, before?.until)
  const effects = [
    by >= MINUTE && `The pause is then ${span(by)} shorter.`,
    upcoming?.value?.length && skippedInWords(skippedUntil(until, upcoming.value), dateTime),
  ]
  return html`<div class="pause-other"><label>Date and time <input type="datetime-local" required value=${time} onInput=${(event) => set({ time: event.target.value })} /></label>
    <button type="button" class="primary" disabled=${fault.value !== undefined} onClick=${() => choose(endingAt('', until))}>${action} until then</button></div>
    <p role="status" class=${fault.value ? 'error' : ''}>${fault.value ?? effects.filter(Boolean).join(' ')}</p>`
}

/** The outcomes of messages that a pause affects. */
const OUTCOMES = ['running', 'waiting', 'retrying', 'approval']

/**
 * What happens to running attempts, how many messages already wait, and how many will wait after a
 * failed attempt or an approval.
 */
function Effect({ kind, name, gateway }) {
  const { value } = useLoaded(
    () =>
      Promise.all([
        ...OUTCOMES.map((outcome) => countWith(outcome, { kind, name, gateway })),
        kind === 'skill' ? requestsFor(name) : 0,
      ]),
    [],
  )
  const [running, waiting, retrying, approval, requests] = value ?? []
  const later = heldLaterText({ retrying: retrying?.many, approvals: approval?.many, requests })
  return html`<p class="pause-effect">Running attempts finish${running && `: ${running.many === 0 ? 'none runs' : `${amount(running)} ${running.many === 1 ? 'runs' : 'run'}`} now`}.${waiting && ` ${waitingIn(waiting)}`}${later && ` ${later}`}</p>`
}

/** Maximum number of requests that are examined. */
const MAX_REQUESTS = 1_000

/** The number of requests of other skills for a skill; 0 if they cannot be read. */
async function requestsFor(skill) {
  const wanted = { status: 'pending', limit: MAX_REQUESTS }
  return invoke('approval-list', wanted).then(
    (requests) => requestsOfCallers(skill, requests),
    () => 0,
  )
}

/** How many events wait for a push already, and since when it fails. */
function PushEffect({ name }) {
  const push = now.value?.subscriptions?.find((each) => each.name === name)
  if (!push) return null
  const { waiting, queued, matching, more, failingSince } = push
  const wait = `${count(waiting, 'event', more ? '+' : '')} ${waiting === 1 ? 'waits' : 'wait'} already: ${queued.toLocaleString('en')} queued, ${matching.toLocaleString('en')} unread.`
  return html`<p class="pause-effect">${waiting === 0 ? 'No event waits yet.' : wait}${failingSince !== undefined && html` Its attempts have failed for <${Age} at=${failingSince} />.`}</p>`
}

function waitingIn(waiting) {
  if (waiting.many === 0) return 'No message waits yet.'
  const { many, isCut } = waiting
  return `${count(many, 'message', isCut ? '+' : '')} ${many === 1 ? 'waits' : 'wait'} already.`
}

function amount({ many, isCut }) {
  return `${many.toLocaleString('en')}${isCut ? '+' : ''}`
}
