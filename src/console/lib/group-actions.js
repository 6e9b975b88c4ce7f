import { computed, signal } from '@preact/signals'
import { noReaderText } from '../../lib/no-reader.ts'
import { skippedRange } from '../../lib/skipped-range.ts'
import { invoke } from './api.js'
import { authorOf } from './authors.js'
import { html } from './html.js'
import { act, ask, dateTime, say, span, useLoaded } from './parts.js'
import { pauseWith } from './pause.js'
import { instant } from './range.js'
import { replayRange } from './replay.js'
import { go } from './router.js'
import { SkipField, SkipLabel } from './skip-field.js'
import { startedJobs } from './started-jobs.js'
import { count } from './troubles.js'

/** Replays a range of a topic to a consumer group. */
export function replayGroup({ topic, group }) {
  return replayRange({
    skill: 'event-replay',
    of: { topic, queue: group },
    title: `Replay events of ${topic} to ${group}?`,
    effect: html`The group gets the events again that it has read from that time. Other groups get nothing.<${ReaderNote} topic=${topic} group=${group} />`,
  })
}

/** The warning that a group has no reader, so replayed events will wait. */
function ReaderNote({ topic, group }) {
  const { value = [] } = useLoaded((signal) => invoke('event-groups', { topic, queue: group }, signal), [])
  const [{ readers = [], waiting = 0, skill, lastRead, noReader } = {}] = value
  const hasNone = noReader || (value.length > 0 && readers.length === 0 && waiting === 0 && !skill)
  if (!hasNone) return null
  const { since, by } = noReader ?? { since: lastRead?.at, by: lastRead?.by }
  const last = { since: since && dateTime(since), by: by && authorOf(by) }
  return html` <b class="warn-text">${noReaderText(last)} The events wait for one.</b>`
}

/** Replays a range of a topic to a push subscription. */
export function replayPush({ name, url }) {
  return replayRange({
    skill: 'subscription-replay',
    of: { name },
    title: `Replay events to ${name}?`,
    effect: `Each event that it matches goes to ${url} again, with the same id.`,
  })
}

/** Delivers the events that a cancelled replay withdrew, and no later one has, as a job, and opens it. */
export async function deliverWithdrawn({ id, target: { topic, group, subscription } }) {
  await act(async () => {
    const isPush = subscription !== undefined
    const skill = isPush ? 'subscription-replay' : 'event-replay'
    const name = subscription ?? group
    const of = { ...(isPush ? { name } : { topic, queue: group }), withdrawn: id }
    const { redelivered, queued = 0, filtered = 0 } = await invoke(skill, { ...of, dryRun: true })
    const left = [
      queued > 0 && `${count(queued, 'event')} ${queued === 1 ? 'waits' : 'wait'} for an attempt already.`,
      filtered > 0 && `The filter leaves ${count(filtered, 'event')} out.`,
    ]
    const title = `Deliver ${count(redelivered, 'withdrawn event')} to ${name}?`
    const body = [
      'They keep their ids.',
      isPush && `Events sent to ${name} in the meantime are sent again.`,
      ...left,
    ]
      .filter(Boolean)
      .join(' ')
    if (!(await ask({ title, body, action: 'Deliver', isReady: signal(redelivered > 0) }))) return undefined
    const { job } = await invoke(skill, of)
    startedJobs.value++
    go(['jobs', job.id])
    return `${name} gets ${count(redelivered, 'event')}.`
  })
}

/** Delivers one event to a group or push again, with the same id. */
export async function replayEvent({ topic, name, id, push }) {
  const skill = push ? 'subscription-replay' : 'event-replay'
  const of = { ...(push ? { name } : { topic, queue: name }), from: id, to: id }
  await act(async () => {
    const { events, redelivered, filtered = 0 } = await invoke(skill, { ...of, dryRun: true })
    const title = `Deliver this event to ${name} again?`
    const isReady = signal(redelivered > 0)
    const body = redelivered > 0 ? effectOf(push) : whyNothing({ name, events, filtered })
    if (!(await ask({ title, body, action: 'Deliver again', isReady }))) return undefined
    await invoke(skill, of)
    return `${name} gets it again.`
  })
}

/** Why an event would not be delivered again. */
function whyNothing({ name, events, filtered }) {
  if (events === 0) return 'It is not retained any more.'
  if (filtered > 0) return `The filter of ${name} leaves it out.`
  return `${name} has not read it yet: it comes anyway, once.`
}

function effectOf(push) {
  return push
    ? `It goes to ${push.url} again, with the same id. Other receivers do not get it.`
    : 'The group gets it again. Other groups do not.'
}

/**
 * Lets a group skip what it has not read, including what it is reading now: all, or until a time.
 * `here`: the event with which it is to go on.
 */
export async function skipGroup({ topic, group, here }) {
  const of = { topic, queue: group }
  const until = signal()
  const counts = signal()
  const isReady = computed(() => (counts.value?.skipped ?? 0) > 0 || counts.value?.more === true)
  const isYes = await ask({
    title: here ? `Skip until this event of ${topic}?` : `Skip what ${group} has not read of ${topic}?`,
    body: html`<${SkipField} ...${{ of, until, counts, here }} />`,
    action: html`<${SkipLabel} counts=${counts} />`,
    danger: true,
    isReady,
  })
  if (!isYes) return
  await act(async () => {
    const time = until.value
    const bound = time === undefined ? {} : { until: instant(time) }
    const skip = await invoke('event-skip', { ...of, ...bound })
    const { skipped = 0, more } = skip
    const next = time === undefined ? 'with what comes now' : `with the events since ${dateTime(time)}`
    const noted = { ...skip, at: Date.now(), until: time, count: skipped }
    const text = `${count(skipped, 'event', more ? '+' : '')} skipped: ${group} goes on ${next}.`
    if (skippedRange(noted) === undefined) return text
    const undo = () => undoSkip({ topic, group, skip: noted })
    return html`${text} <button type="button" class="small" onClick=${undo}>Undo …</button>`
  })
}

/** Delivers the events that a group has skipped again, as a job. */
export async function undoSkip({ topic, group, skip }) {
  await act(async () => {
    const { since, until } = skippedRange(skip)
    const of = { topic, queue: group, since: instant(since), until: instant(until) }
    const { redelivered } = await invoke('event-replay', { ...of, dryRun: true })
    const others = redelivered - skip.count
    const body = [
      `Published from ${dateTime(since)} to ${dateTime(until)}.`,
      others > 0 &&
        !skip.more &&
        `${count(others, 'event')} of that time had been read, and ${others === 1 ? 'comes' : 'come'} again too.`,
      others < 0 && `The others are read, waiting or no longer retained.`,
    ]
    const isYes = await ask({
      title: `Deliver ${count(redelivered, 'skipped event')} to ${group} again?`,
      body: body.filter(Boolean).join(' '),
      action: 'Deliver',
      isReady: signal(redelivered > 0),
    })
    if (!isYes) return undefined
    await invoke('event-replay', of)
    startedJobs.value++
    return `${group} gets ${count(redelivered, 'event')} again.`
  })
}

/** Asks for a reason and an end, then pauses, or changes the present pause. */
export function pausePush({ name, paused: before }) {
  return pauseWith({ kind: 'subscription', of: { name }, name, before })
}

export function resumePush({ name, url, waiting }) {
  return change('resume', name, `${name} is pushed to again.`, {
    title: `Push to ${name} again?`,
    body: `${count(waiting, 'event')} that ${waiting === 1 ? 'waits' : 'wait'}, and what comes, go to ${url}.`,
    action: 'Resume',
  })
}

/** Tries a failing push immediately, without waiting for its next attempt. */
export function tryPush({ name }) {
  return act(async () => {
    const before = await lastAttempt(name)
    const { waiting } = await invoke('subscription-retry', { name })
    if (waiting === 0) return `${name} has nothing to send. Its next event tries the receiver.`
    void sayOutcome(name, before)
    return `${name} is tried now.`
  })
}

/** How long (ms) to watch for the outcome of an attempt, and how often. */
const WATCH = { for: 30_000, every: 500 }

async function lastAttempt(name) {
  const { attempts = [] } = await invoke('subscription-show', { name, limit: 1 }).catch(() => ({}))
  return attempts[0]
}

/** Says how the attempt after `before` ended. */
async function sayOutcome(name, before) {
  for (const end = Date.now() + WATCH.for; Date.now() < end; ) {
    await new Promise((resolve) => setTimeout(resolve, WATCH.every))
    const last = await lastAttempt(name)
    if (last === undefined || last.at === before?.at) continue
    const { status, reason, nextAt, isDead } = last
    if (reason === undefined) return say(`${name} accepted it${status ? `: ${status}` : ''}.`)
    const next =
      nextAt === undefined ? '' : ` The next attempt begins in ${span(Math.max(0, nextAt - Date.now()))}.`
    const cause = status && !reason.includes(status) ? `${status}, ${reason}` : reason
    return say(`${name} failed again: ${cause}.${isDead ? ' The event is a dead letter now.' : next}`, 'bad')
  }
  return say(`${name} has not answered yet.`)
}

async function change(verb, name, said, question) {
  if (!(await ask(question))) return
  await act(async () => {
    await invoke(`subscription-${verb}`, { name })
    return said
  })
}

/**
 * Deletes a subscription after a question that says what will be lost. If nothing was to be lost,
 * the daemon refuses to delete what has come since. Resolves with whether it was deleted.
 */
export async function deletePush(name) {
  let isDeleted = false
  await act(async () => {
    const { waiting, dead } = await invoke('subscription-delete', { name, dryRun: true })
    const force = waiting + dead > 0
    const lost = [waiting > 0 && `${count(waiting, 'event')} waiting`, dead > 0 && count(dead, 'dead letter')]
    const body = force
      ? `Lost with it: ${lost.filter(Boolean).join(' and ')}. This cannot be undone.`
      : 'Nothing waits for it. This cannot be undone.'
    if (!(await ask({ title: `Delete the push ${name}?`, body, action: 'Delete', danger: true }))) return
    await invoke('subscription-delete', { name, ...(force && { force }) })
    isDeleted = true
    return `${name} is deleted.`
  })
  return isDeleted
}
