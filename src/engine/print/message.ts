import { isJsonObject, type Json, type JsonObject, objectAt, objectsIn, textAt } from '../../core/json.ts'
import { secondOf, whenText } from '../../core/readable.ts'
import { ageText } from '../../lib/age-text.ts'
import { answerText } from '../../lib/answer-text.ts'
import { answersAfter } from '../../lib/answers-after.ts'
import { bodyText } from '../../lib/body-text.ts'
import { commandText } from '../../lib/command-text.ts'
import { defined } from '../../lib/defined.ts'
import { factLines } from '../../lib/fact-lines.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { resumeCommand } from '../../lib/resume-command.ts'
import { age } from '../../lib/short-text.ts'
import { table } from '../../lib/text-table.ts'
import { factsIn, recipientsOf, valueText } from './message-facts.ts'
import { timelineOf } from './message-timeline.ts'
import { shortTime } from './pause-note.ts'
import { againText, notSentText, withdrawnText } from './push-attempts.ts'

/** Maximum lines of a text at a terminal; `--full` and a pipe have all. */
const MAX_LINES = 30

type Detail = { full?: boolean | undefined; headers?: boolean | undefined }

/**
 * `message-show`: the message, then its history with log lines, its receivers, and what one can do.
 * `full`: the whole text, also at a terminal. `headers`: those of its delivery, too.
 */
export function humanMessage(found: Json, { full, headers }: Detail = {}): string {
  const result: JsonObject = Object(found)
  const { outcome, pushes, receive, events } = result
  const { id, text } = Object(result.message)
  const attempts = objectsIn(pushes).map(({ subscription, at, attempt, status, reason, answer }) => [
    subscription,
    secondOf(at),
    attempt,
    reason === undefined ? status : [reason, answerText(String(answer ?? ''))].filter(Boolean).join(': '),
  ])
  const isWhole = full === true || !(process.stdout.columns > 0)
  const whole = commandText('message show', id, '--full')
  const bodyOf = (said: string) => bodyText(said, isWhole ? Number.POSITIVE_INFINITY : MAX_LINES, whole)
  const body = bodyOf(String(text ?? ''))
  return [
    paragraph('', `${paint('bold', String(id))}  ${headText(outcome, result.history)}`),
    '',
    ...factLines(factsOf(result)),
    '',
    ...(headers ? [...headerLines(Object(result.message)), ''] : []),
    ...(body === '' ? [] : [body, '']),
    ...timelineOf(result, bodyOf),
    '',
    ...factLines([['receive', receiveText(Object(receive))], ...objectsIn(events).map(groupOf)]),
    ...(attempts.length > 0 ? ['', table(['push', 'time', 'attempt', 'result'], attempts)] : []),
    ...nextSteps(result, String(id)),
  ].join('\n')
}

/** The headers of a delivery, by name. */
function headerLines({ data }: JsonObject): string[] {
  const headers = Object.entries(objectAt(data, 'headers'))
  if (headers.length === 0) return ['It has no headers: only messages of webhooks keep them.']
  return factLines(headers.map(([name, value]): [string, string] => [name, valueText(value)]))
}

/** The outcome; of a handled message with an answer `answered 17:07 UTC, sent`. */
function headText(outcome: unknown, history: unknown): string {
  const answer = answerOf(outcome, history)
  return answer ? `answered ${shortTime(answer.at)}, ${answer.state}` : outcomeText(outcome)
}

/** The last answer to a handled message. */
function answerOf(outcome: unknown, history: unknown) {
  return outcome === 'done' && Array.isArray(history) ? answersAfter(0, history).at(-1) : undefined
}

function outcomeText(outcome: unknown): string {
  return outcome === 'dead' || outcome === 'undelivered' ? paint('red', String(outcome)) : String(outcome)
}

/** The facts of a message, in the order of `dead-letter show`. */
function factsOf({
  message,
  outcome,
  history,
  attempt,
  next,
  pausedBy,
  budget,
  traceUrl,
  unanswerable,
}: JsonObject): [title: string, text: string][] {
  const { receivedAt, gateway, transport, conversation, from, to, subject, key, data, trace, attachments } =
    Object(message)
  const files = objectsIn(attachments).map(({ name, type, size }) => `${name} (${type}, ${size} bytes)`)
  const head = {
    gateway,
    transport,
    conversation,
    from,
    to,
    ...recipientsOf({ transport }, data),
    subject,
    event: textAt(data, 'event') ?? null,
    key,
    trace,
  }
  return [
    ['received', whenText(receivedAt)],
    // Otherwise, the first line says how it was answered.
    ['outcome', answerOf(outcome, history) ? '' : String(outcome)],
    ['running', attempt === undefined ? '' : runningText(Object(attempt))],
    ...objectsIn(pausedBy ?? null).map((pause): [string, string] => ['held by', heldText(pause)]),
    ...(isJsonObject(budget ?? null)
      ? [['held by', budgetText(Object(budget))] satisfies [string, string]]
      : []),
    ['next', next === undefined ? '' : nextOf(Object(next))],
    ...factsIn({ ...head, ...(files.length > 0 && { files }), traceUrl: traceUrl ?? null }),
    ['answer', unanswerable === undefined ? '' : `not possible: ${unanswerable}`],
  ]
}

/**
 * What one can do about a dead letter: of its commands, `show` has its whole errors. The line of a
 * running attempt has the command that cancels it.
 */
function nextSteps({ outcome, history, message, pausedBy }: JsonObject, id: string): string[] {
  const pauses = objectsIn(pausedBy ?? null)
  if (outcome === 'waiting' && pauses.length > 0) return ['', ...pauses.flatMap(resumeSteps(Object(message)))]
  const approval = objectsIn(history).findLast(({ detail }) => textAt(detail, 'approval'))
  if (outcome === 'approval' && approval)
    return ['', `To decide: ${commandText('approval show', textAt(approval.detail, 'approval'))}`]
  if (outcome === 'retrying')
    return [
      '',
      paragraph('', `To retry it now: ${commandText('message retry', id)}`),
      paragraph('', `To give it up: ${commandText('run cancel', id, '--reason', 'TEXT')}`),
    ]
  if (outcome !== 'dead') return []
  return [
    '',
    paragraph('', `Its errors, and others with the same one: ${commandText('dead-letter show', id)}`),
    paragraph('', `To retry it: ${commandText('dead-letter retry', id)}`),
    paragraph('', `To remove it: ${commandText('dead-letter drop', id)}`),
  ]
}

/** `pause of gateway returns, until 2026-11-29 16:00:00 UTC (in 3 h)`. */
function heldText({ kind, name, until }: JsonObject): string {
  const what = kind === 'store' ? 'the pause of everything' : `the pause of ${kind} ${name}`
  if (typeof until !== 'number') return `${what}, until somebody resumes it`
  return `${what}, until ${secondOf(until)} (in ${ageText(Math.max(0, until - Date.now()))})`
}

/** `its budget, free again at 2026-11-29 22:00:00 UTC (in 3 h)`. */
function budgetText({ until, whose }: JsonObject): string {
  return `${whose}, free again at ${secondOf(until)} (in ${ageText(Math.max(0, Number(until) - Date.now()))})`
}

/** How to end a pause, and to answer in a conversation that a person has. */
function resumeSteps({ gateway, conversation }: JsonObject): (pause: JsonObject) => string[] {
  return (pause) => [
    ...(pause.kind === 'conversation'
      ? [`Its conversation: ${commandText('conversation show', gateway, conversation)}`]
      : []),
    paragraph('', `To resume it: ${resumeCommand(pause)}`),
  ]
}

/** `route ledger, attempt 1, skill export, since 2026-11-29 12:50:03 UTC (8 min)`, with its end. */
function runningText({ route, attempt, skill, since, timeoutAt }: JsonObject): string {
  const facts = Object.entries(defined({ route, attempt, skill })).map(([name, value]) => `${name} ${value}`)
  const start = typeof since === 'number' ? [`since ${secondOf(since)} (${age(since)})`] : []
  const end = typeof timeoutAt === 'number' ? [`its timeout ends it at ${secondOf(timeoutAt)}`] : []
  return [...facts, ...start, ...end].join(', ')
}

/** `attempt 4 of 30, 2026-11-29 12:50:03 UTC (in 7 min); …`, of a message that is retried. */
function nextOf({ at, attempt, of, givesUpAt, endsAt }: JsonObject): string {
  const left = Number(at) - Date.now()
  const when = `${secondOf(at)} (${left > 0 ? `in ${ageText(left)}` : 'now'})`
  if (of === undefined) return `attempt ${attempt}, ${when}`
  const limit = `this test ends at ${secondOf(endsAt)}; no attempt begins after that`
  if (endsAt !== undefined) return `attempt ${attempt} of up to ${of}, ${when}; ${limit}`
  const end = attempt === of ? 'the last one' : `gives up after attempt ${of}, about ${secondOf(givesUpAt)}`
  return `attempt ${attempt} of ${of}, ${when}; ${end}`
}

/** The state on the receive road, with the end of a lease. */
function receiveText({ state, until, unused, ...others }: JsonObject): string {
  if (unused === true) return ''
  const rest = Object.entries(others).map(([name, value]) => `${name} ${valueText(value)}`)
  const end = until === undefined ? [] : [`until ${secondOf(until)}`]
  return [RECEIVE_STATES[String(state)] ?? String(state), ...end, ...rest].join(', ')
}

/** A group that reads the event. The one of a push has the last attempt, in words. */
function groupOf({ group, state, push, open, again, ...others }: JsonObject): [title: string, text: string] {
  const rest = Object.entries(others).map(([name, value]) => `${name} ${valueText(value)}`)
  const words = isJsonObject(push) ? pushWords(String(state), push) : [String(state), openText(open, again)]
  return [`group ${group}`, [...words, ...rest].filter(Boolean).join(', ')]
}

/** Of all events of the group: how many are leased, and how many wait to be delivered again. */
function openText(open: Json = 0, again: Json = 0): string {
  const texts = [
    Number(open) > 0 ? [`${open} being read`] : [],
    Number(again) > 0 ? [`${again} to be delivered again`] : [],
  ]
  return texts.flat().join(', ')
}

function pushWords(state: string, push: JsonObject): string[] {
  if (state === 'waiting') return [push.since === undefined ? notSentText(push) : againText(push)]
  if (state === 'read') return ['no attempt known: it was skipped, is older than the push, or is being sent']
  if (state === 'removed') return ['its dead letter was dropped', pushText(push)]
  const again = isJsonObject(push.again) ? againText(push.again) : ''
  return [state, pushText(push), again]
}

function pushText({ attempt, reason, nextAt, held, withdrawn }: JsonObject): string {
  if (reason === undefined) return attempt === undefined ? '' : `attempt ${attempt}`
  if (isJsonObject(withdrawn)) return `attempt ${attempt} failed: ${reason}; ${withdrawnText(withdrawn)}`
  if (held === 'failing') return `attempt ${attempt} failed: ${reason}; waits until the receiver answers`
  const left = Number(nextAt) - Date.now()
  const next = nextAt === undefined ? '' : `; the next one ${left > 0 ? `in ${ageText(left)}` : 'is due'}`
  return `attempt ${attempt} failed: ${reason}${next}`
}

/** What the states of the receive road mean. */
const RECEIVE_STATES: Readonly<Record<string, string>> = {
  waiting: 'waiting, until a program pulls it',
  leased: 'leased to a program that works on it',
  taken: 'taken by a program, without a lease',
  acknowledged: 'acknowledged by a program',
  dead: 'dead: it has a dead letter',
}
