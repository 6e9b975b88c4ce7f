import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { MOST_HELD } from '../../lib/held-text.ts'
import { invoke } from './api.js'
import { authorOf } from './authors.js'
import { html } from './html.js'
import { now, state } from './live.js'
import { openEnd } from './open-end.js'
import { Age, dateTime, fullTime, useLoaded } from './parts.js'
import { EVERYTHING } from './resume.js'
import { link } from './router.js'
import { count } from './troubles.js'
import { countWith } from './waiting-messages.js'
import { useWaitingOfSkill } from './waiting-of-skill.js'

/**
 * All pauses, shared by all views: `{ value, error, of }`, where `of` is what the daemon said about
 * its pauses when they were loaded.
 */
const known = signal({})
let loading

/** Loads the pauses once, however many views ask. */
function load(of) {
  loading ??= invoke('pause-list')
    .then(
      (value) => {
        known.value = { value, of }
      },
      (error) => {
        known.value = { ...known.peek(), error, of }
      },
    )
    .finally(() => {
      loading = undefined
    })
  return loading
}

/** Loads the pauses again, after one was changed here. */
async function reloadPauses() {
  await loading
  await load(known.peek().of)
}

/**
 * What the daemon says about its pauses, as a text that changes with them, also after a pause that
 * was shorter than the time between two reports.
 */
export function pausesOfDaemon() {
  const { troubles = [], paused, pauses } = now.value ?? {}
  const details = troubles
    .filter(({ code }) => /paused$/.test(code))
    .map(({ key, text, since }) => `${key} ${text} ${since}`)
  return [paused, pauses, ...details].join()
}

/** The pauses, loaded again when the daemon reports a change: `{ value, error, reload }`. */
export function usePauses() {
  const of = `${state.value} ${pausesOfDaemon()}`
  const { value: loaded } = known
  // Also after each load: the daemon may have reported a change meanwhile.
  useEffect(() => {
    if (loaded.of !== of) load(of)
  }, [of, loaded])
  // The counts of waiting messages change without a report. So each new view loads the pauses.
  useEffect(() => void reloadPauses(), [])
  return { ...loaded, reload: reloadPauses }
}

function pushPage(name) {
  const topic = now.value?.subscriptions?.find((each) => each.name === name)?.topic
  return topic === undefined ? 'queues' : ['queues', topic, name]
}

/** How each kind is resumed, and its page. */
const KINDS = {
  gateway: ({ name }) => ({ args: { gateway: name }, at: ['gateways', name] }),
  route: ({ name }) => ({ args: { route: name }, at: ['routes', name] }),
  skill: ({ name }) => ({ args: { skill: name }, at: ['skills', name] }),
  conversation: ({ gateway, name }) => ({
    args: { gateway, conversation: name },
    at: ['conversations', gateway, name],
  }),
  subscription: ({ name }) => ({ args: { name }, at: pushPage(name) }),
  schedule: ({ name }) => ({ args: { id: name }, at: ['schedules', name] }),
  store: () => ({ args: {}, skill: EVERYTHING }),
}

/**
 * The operation that resumes a pause, its arguments, and the path of the page of what is paused, if
 * it has one.
 */
export function placeOfPause(pause) {
  return { skill: `${pause.kind}-resume`, ...KINDS[pause.kind](pause) }
}

/** `gateway shop`, linked to its page. */
export function PauseName({ of }) {
  const { kind, name, label = name } = of
  return html`${kind} <a href=${link(placeOfPause(of).at ?? 'paused')}><b>${label}</b></a>`
}

/** What is paused, as a sentence lists it: `gateway shop and route refunds`. */
export function PauseNames({ of }) {
  return of.map(
    (pause, at) =>
      html`${at > 0 && (at === of.length - 1 ? ' and ' : ', ')}<${PauseName} key=${`${pause.kind} ${pause.name}`} of=${pause} />`,
  )
}

/** Pauses with their facts, one per line, each with its `Action`, if there is one. */
export function PauseList({ of, Action, done }) {
  return html`<ul class="plain pause-list">${of.map(
    (pause) =>
      html`<li key=${`${pause.kind} ${pause.name}`}><${PauseName} of=${pause} /> is paused<${PauseFacts} of=${pause} />${Action && html` <${Action} of=${pause} done=${done} />`}</li>`,
  )}</ul>`
}

/** Who paused it, for how long, until when and why. */
export function PauseFacts({ of: pause }) {
  const { by, since, until, reason, kind } = pause
  return html`${by && ` by ${authorOf(by)}`}${since !== undefined && html` for <${Age} at=${since} />`}, ${
    until === undefined
      ? `until ${openEnd(kind)}`
      : html`until <time title=${fullTime(until)}>${dateTime(until)}</time>`
  }${reason && html`: <span class="said-reason">${reason}</span>`}<${PauseChange} of=${pause} />`
}

/** Another person who has changed a pause since, when and why. */
export function PauseChange({ of: { changedBy, changedAt, changedReason } }) {
  if (changedBy === undefined) return null
  return html` <span class="pause-change">(changed by ${authorOf(changedBy)} <${Age} at=${changedAt} /> ago${changedReason && html`: <span class="said-reason">${changedReason}</span>`})</span>`
}

/** The filter of the messages that wait for a pause of another kind than a skill. */
function waitingOf({ kind, name, gateway }) {
  const of = kind === 'conversation' ? { gateway, conversation: name } : { [kind]: name }
  return { outcome: 'waiting', ...of }
}

/**
 * The messages that a pause holds, as a link if a filter finds them. Nothing if it holds none. The
 * daemon counts one of each conversation at first; the number of all that wait follows.
 */
export function Waiting({ of: pause }) {
  const { kind, name, waiting = 0, runs = 0 } = pause
  const { value: all } = useLoaded(
    async () => (waiting === 0 ? undefined : countWith('waiting', pause)),
    [kind, name, pause.gateway, waiting],
  )
  const ofRuns = runs > 0 && html`${waiting > 0 && ', '}${count(runs, 'run')}`
  if (waiting === 0) return ofRuns || null
  const many = Math.max(waiting, all?.many ?? 0)
  const text = count(many, 'message', waiting >= MOST_HELD || all?.isCut ? '+' : '')
  if (kind === 'skill') return html`<${WaitingOfSkill} pause=${pause} text=${text} />${ofRuns}`
  return html`<a class="many" href=${link('messages', waitingOf(pause))}>${text}</a>`
}

function WaitingOfSkill({ pause, text }) {
  const query = useWaitingOfSkill(pause)
  return query
    ? html`<a class="many" href=${link('messages', query)}>${text}</a>`
    : html`<span class="many">${text}</span>`
}

/**
 * A pause in a line of its own, with the messages that wait for it. `what`: the kind of the paused
 * object, if the page shows another object. `children`: what can be done about it.
 */
export function PauseNote({ of: pause, what, children }) {
  if (!pause) return null
  const isTaken = pause.kind === 'conversation'
  const state = isTaken ? 'taken over' : 'paused'
  const word = what ? html`The ${what} is ${state}` : isTaken ? 'Taken over' : 'Paused'
  return html`<p class="now-it warn pause-note"><b>${word}</b><${PauseFacts} of=${pause} />. <${HeldMessages} of=${pause} />${children && html` ${children}`}</p>`
}

function HeldMessages({ of: pause }) {
  const { drop, waiting, runs = 0, kind } = pause
  if (drop) return 'Its messages are recorded as handled by a person.'
  if (waiting > 0 && kind === 'conversation')
    return html`<${Waiting} of=${pause} /> ${waiting === 1 ? 'is' : 'are'} held.`
  if (waiting + runs > 0) return html`<${Waiting} of=${pause} /> ${waiting + runs === 1 ? 'waits' : 'wait'}.`
  return waiting === 0 ? 'No message waits.' : null
}
