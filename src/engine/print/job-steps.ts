import { shownAuthor } from '../../core/author.ts'
import { MESSAGE_TOPIC } from '../../core/event.ts'
import { isJsonObject, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { secondOf, timeOf } from '../../core/readable.ts'
import { ageText } from '../../lib/age-text.ts'
import { isStoppable } from '../../lib/cancelled-job.ts'
import { commandText } from '../../lib/command-text.ts'
import { handledSince } from '../../lib/later-word.ts'
import { waitsForReader } from '../../lib/no-reader.ts'
import { isInProgress } from '../../lib/outcomes.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { isGroupReplay } from '../../lib/replay-reads.ts'
import { resumeCommand } from '../../lib/resume-command.ts'
import { age } from '../../lib/short-text.ts'
import { deliverable, isFinishedSince, replayedSince, unfinished } from '../../lib/unfinished-job.ts'
import { aboutJob, paceOf, shortJobId, shortProgressOf, shortResultOf, stateWord } from './job-words.ts'
import { filterWords } from './letter-causes.ts'

/** What a job waits for, one line each. */
export function waitLines({ waitsFor }: JsonObject): string[] {
  return objectsIn(waitsFor ?? null).map(waitText)
}

/** `skill fails, paused by ada since 2026-11-30 03:44 UTC until it is resumed: the shelf moves`. */
function waitText({ kind, name, since, by, until, reason, error, nextAt }: JsonObject): string {
  if (kind === 'receiver') {
    const failing = typeof since === 'number' ? `fails for ${age(since)}` : 'failed'
    return `the receiver of ${name} ${failing}: ${[error, nextText(nextAt)].filter(Boolean).join('; ')}`
  }
  if (kind === 'reader') {
    const last = {
      since: since === undefined ? undefined : secondOf(since),
      by: by === undefined ? undefined : shownAuthor(by),
    }
    return waitsForReader(name, last)
  }
  const what = kind === 'store' ? 'everything' : `${kind === 'subscription' ? 'push' : kind} ${name}`
  const author = by === undefined ? '' : ` by ${shownAuthor(by)}`
  const start = since === undefined ? '' : ` since ${timeOf(since)}`
  const end = until === undefined ? 'until it is resumed' : `until ${timeOf(until)}`
  return `${what}, paused${author}${start} ${end}${reason === undefined ? '' : `: ${reason}`}`
}

/** `next attempt 2026-11-30 07:03:40 UTC (in 13 s)`. */
function nextText(at: unknown): string {
  if (typeof at !== 'number') return ''
  return at <= Date.now()
    ? 'next attempt now'
    : `next attempt ${secondOf(at)} (in ${ageText(at - Date.now())})`
}

/** A job in one line while somebody waits for it: `delivering, 262 waiting, 20 delivered, 7.7 a second …`. */
export function followText(job: JsonObject): string {
  const result = shortResultOf(job)
  // The whole of a replay includes what its filter leaves out.
  const progress = job.state === 'running' || result === '' ? shortProgressOf(job) : ''
  const waits = waitLines(job).map((text) => `waits for ${text}`)
  return [stateWord(job), progress, result, paceOf(job), ...waits].filter(Boolean).join(', ')
}

/** Which job somebody waits for, and how to end the wait, or the job. */
export function followIntro(job: JsonObject): string {
  const cancel = commandText('job cancel', shortJobId(job.id))
  return `${aboutJob(job)}. Ctrl-C ends only the wait, ${cancel} the job.`
}

/** The next commands for a job: what it waits for, what failed, or how to end it. */
export function jobSteps(job: JsonObject): string[] {
  const all = [...finishSteps(job), ...waitSteps(job), ...failedSteps(job), ...stopSteps(job)]
  const steps = [...new Set(all)]
  return steps.length === 0 ? [] : ['', ...steps.map((step) => paragraph('  → ', step))]
}

/** What a cancelled or failed job did not do, in sentences. */
export function unfinishedLines(job: JsonObject): string[] {
  const sentences = unfinished(partsOf(job))
  return sentences.length === 0 ? [] : ['', paragraph('', sentences.join(' '))]
}

function partsOf({ kind, state, target, done, total, result, later, outcomes }: JsonObject) {
  const parts = { kind: String(kind), state: String(state), done: Number(done), total: Number(total) }
  return {
    ...parts,
    later,
    outcomes: isJsonObject(outcomes) ? Object(outcomes) : undefined,
    target: Object(target),
    result: isJsonObject(result) ? Object(result) : undefined,
  }
}

/** The command that finishes a cancelled or failed job. */
function finishSteps(job: JsonObject): string[] {
  if (unfinished(partsOf(job)).length === 0) return []
  const { do: verb, topic, group, subscription, since, until, from, to, ...others } = Object(job.target)
  const times = { since, until, from, to }
  if (job.kind === 'dead-letters') {
    if (isFinishedSince(partsOf(job))) return []
    if (Number(job.done) >= Number(job.total)) return [againStep(job)]
    const words = filterWords({ group, since, until, ...others })
    if (others.letters !== undefined) return verb === 'retry' ? [againStep(job)] : []
    return [`${commandText('dead-letter bulk --do', verb, ...words)} goes on.`]
  }
  if (job.kind !== 'replay')
    return [
      '`trivium person erase` or `trivium message erase` starts again, with the same reference.',
      ...(pathGet(job.result ?? null, ['withdrawn']) === undefined
        ? []
        : [
            '`trivium message list --outcome dropped` has the messages, `trivium message resend ID` resends one.',
          ]),
    ]
  const result: JsonObject = Object(job.result)
  const replay = (...events: unknown[]) =>
    subscription === undefined
      ? commandText('group replay', group, topic, ...events)
      : commandText('subscription replay', subscription, ...events)
  if (deliverable(partsOf(job)) > 0)
    return [`${replay('--withdrawn', shortJobId(job.id))} delivers the withdrawn events.`]
  if (replayedSince(job.later).count > 0)
    return objectsIn(job.later ?? null).map(
      ({ job: later }) => `${commandText('job show', shortJobId(later))} shows the later replay.`,
    )
  const isWithdrawn = result.withdrawn !== undefined
  const lastEvent = isWithdrawn ? undefined : result.lastEvent
  const rest = lastEvent === undefined ? times : { until, to, from: lastEvent }
  const range = Object.entries(rest).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  )
  const note = lastEvent === undefined ? '' : ' It begins with the last event of this job.'
  return [`${replay(...range)} replays ${isWithdrawn ? 'the range again' : 'the rest'}.${note}`]
}

function waitSteps({ waitsFor }: JsonObject): string[] {
  return objectsIn(waitsFor ?? null).flatMap(({ kind, name }) => {
    // `group show` is among the next commands.
    if (kind === 'reader') return []
    if (kind !== 'receiver') return [`${resumeCommand({ kind, name })} ends the pause.`]
    return [
      `${commandText('subscription retry', name)} tries now, ${commandText('subscription show', name)} shows the attempts.`,
    ]
  })
}

/** Where the messages that failed again are, or the dead events of a push. */
function failedSteps(job: JsonObject): string[] {
  const { id, target, outcomes, later } = job
  const { dead = 0 } = Object(outcomes)
  if (Number(dead) <= handledSince(later).failed) return []
  const { subscription }: JsonObject = Object(target)
  if (subscription !== undefined)
    return [`${commandText('dead-letter list --queue', `push/${subscription}`)} lists the dead events.`]
  return [
    `${commandText('dead-letter list --job', shortJobId(id))} lists those that failed again, with their errors.`,
    againStep(job),
  ]
}

function againStep({ id }: JsonObject): string {
  return `${commandText('dead-letter retry --all --job', shortJobId(id))} retries them again.`
}

function stopSteps(job: JsonObject): string[] {
  const { id, state, target, outcomes, waitsFor, withdrawing } = job
  if (state === 'running') return [`${commandText('job cancel', shortJobId(id))} ends it.`]
  if (isGroupReplay(job)) return withdrawing === true ? [] : groupSteps(job)
  if (withdrawing !== true && isStoppable({ target: Object(target), outcomes: Object(outcomes) }))
    return [`${commandText('job cancel', shortJobId(id))} makes its messages dead letters again.`]
  const { subscription } = Object(target)
  const isPaused = objectsIn(waitsFor ?? null).some(({ kind }) => kind === 'subscription')
  if (subscription === undefined || withdrawing === true || !isInProgress(Object(outcomes))) return []
  const pause = `${commandText('subscription pause', subscription)} holds back all events.`
  return [
    `${commandText('job cancel', shortJobId(id))} withdraws those of its events that wait.`,
    ...(isPaused ? [] : [pause]),
  ]
}

/** How far the readers of a replay are, and how to withdraw unread events. */
function groupSteps({ id, target, outcomes }: JsonObject): string[] {
  if (!isInProgress(Object(outcomes))) return []
  const { topic, group }: JsonObject = Object(target)
  return [
    `${commandText('job cancel', shortJobId(id))} withdraws those of its events that are not read.`,
    `${commandText('group show', group, ...(topic === MESSAGE_TOPIC ? [] : [topic]))} shows who reads.`,
  ]
}
