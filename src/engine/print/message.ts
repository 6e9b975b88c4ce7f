import { type Json, type JsonObject, objectsIn } from '../../core/json.ts'
import { secondOf, whenText } from '../../core/readable.ts'
import { ageText } from '../../lib/age-text.ts'
import { answerText } from '../../lib/answer-text.ts'
import { commandText } from '../../lib/command-text.ts'
import { defined } from '../../lib/defined.ts'
import { durationText } from '../../lib/duration-text.ts'
import { factLines } from '../../lib/fact-lines.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { age, shorten } from '../../lib/short-text.ts'
import { table } from '../../lib/text-table.ts'
import { factsIn, recipientsOf, valueText } from './message-facts.ts'

/** `message-show`: a message without fields that only programs need, and its history. */
export function humanMessage(found: Json): string {
  const { message, outcome, history, logs, pushes, receive, events, next, attempt, traceUrl, unanswerable } =
    Object(found)
  const { text, html: _html, data, receivedAt, attachments, ...head } = message
  const received = new Date(Number(receivedAt)).toISOString()
  const lines = withoutFailures(objectsIn(logs), objectsIn(history)).map(
    ({ at, level, message: said, stack: _, ...fields }) => {
      return { at, road: 'log', what: level, detail: { said, ...fields } }
    },
  )
  const notes = [...objectsIn(history), ...lines]
    .toSorted((a, b) => Number(a.at) - Number(b.at))
    .map(({ at, road, what, detail }) => [timeFrom(received, at), road, what, detailOf(detail)])
  const files = objectsIn(attachments).map(({ name, type, size }) => `${name} (${type}, ${size} bytes)`)
  const attempts = objectsIn(pushes).map(({ subscription, at, attempt, status, reason, answer }) => [
    subscription,
    secondOf(at),
    attempt,
    reason === undefined ? status : [reason, answerText(String(answer ?? ''))].filter(Boolean).join(': '),
  ])
  const steps = nextSteps(outcome, head.id)
  return [
    ...factLines([
      ['received', whenText(receivedAt)],
      ['outcome', String(outcome)],
      ['running', attempt === undefined ? '' : runningText(attempt)],
      ['next', next === undefined ? '' : nextOf(next)],
      ...factsIn({ ...head, ...recipientsOf(head, data), files, traceUrl }),
      ['answer', unanswerable ? `not possible: ${unanswerable}` : ''],
    ]),
    '',
    String(text ?? ''),
    '',
    table(['time', 'road', 'what', ''], notes),
    '',
    ...factLines([['receive', receiveText(receive)], ...objectsIn(events).map(groupOf)]),
    ...(attempts.length > 0 ? ['', table(['push', 'time', 'attempt', 'result'], attempts)] : []),
    ...(steps === '' ? [] : ['', steps]),
  ].join('\n')
}

/**
 * What one can do about a message that runs, is retried or is a dead letter: of the commands for
 * it, `show` has its whole errors.
 */
function nextSteps(outcome: unknown, id: string): string {
  if (outcome === 'running')
    return paragraph('', `To cancel the attempt: ${commandText('run cancel', id, '--reason', 'TEXT')}`)
  if (outcome === 'retrying')
    return [
      'To retry it now, or to give it up:',
      `  ${commandText('message retry', id)}`,
      `  ${commandText('run cancel', id, '--reason', 'TEXT')}`,
    ].join('\n')
  if (outcome !== 'dead') return ''
  const commands = ['show', 'retry', 'drop'].map((verb) => commandText(`dead-letter ${verb}`, id))
  return ['To see its errors, retry it or remove it:', ...commands.map((each) => `  ${each}`)].join('\n')
}

/** `route ledger, attempt 1, skill export, since 2026-11-29 12:50:03 UTC (8 min)`, with its end. */
function runningText({ route, attempt, skill, since, timeoutAt }: JsonObject): string {
  const facts = Object.entries(defined({ route, attempt, skill })).map(([name, value]) => `${name} ${value}`)
  const start = typeof since === 'number' ? [`since ${secondOf(since)} (${age(since)})`] : []
  const end = typeof timeoutAt === 'number' ? [`its timeout ends it at ${secondOf(timeoutAt)}`] : []
  return [...facts, ...start, ...end].join(', ')
}

/** `attempt 4 of 30, 2026-11-29 12:50:03 UTC (in 7 min); …`, of a message that is retried. */
function nextOf({ at, attempt, of, givesUpAt }: JsonObject): string {
  const left = Number(at) - Date.now()
  const when = `${secondOf(at)} (${left > 0 ? `in ${ageText(left)}` : 'now'})`
  if (of === undefined) return `attempt ${attempt}, ${when}`
  const end = attempt === of ? 'the last one' : `gives up after attempt ${of}, about ${secondOf(givesUpAt)}`
  return `attempt ${attempt} of ${of}, ${when}; ${end}`
}

/** The state on the receive road, with the end of a lease. */
function receiveText({ state, until, ...others }: JsonObject): string {
  const rest = Object.entries(others).map(([name, value]) => `${name} ${valueText(value)}`)
  const end = until === undefined ? [] : [`until ${secondOf(until)}`]
  return [RECEIVE_STATES[String(state)] ?? String(state), ...end, ...rest].join(', ')
}

/** A group that reads the event. The one of a push has the last attempt, in words. */
function groupOf({ group, state, push, open, ...others }: JsonObject): [title: string, text: string] {
  const rest = Object.entries(others).map(([name, value]) => `${name} ${valueText(value)}`)
  const detail = push === undefined ? openText(open) : pushText(Object(push))
  return [`group ${group}`, [String(state), detail, ...rest].filter(Boolean).join(', ')]
}

function openText(open: Json | undefined): string {
  return Number(open ?? 0) > 0 ? `${open} being read` : ''
}

function pushText({ attempt, reason, nextAt }: JsonObject): string {
  if (reason === undefined) return attempt === undefined ? '' : `attempt ${attempt}`
  const left = Number(nextAt) - Date.now()
  const next = nextAt === undefined ? '' : `; the next one ${left > 0 ? `in ${ageText(left)}` : 'is due'}`
  return `attempt ${attempt} failed: ${reason}${next}`
}

/** The log lines, without the failures that the history has too. */
function withoutFailures(logs: readonly JsonObject[], history: readonly JsonObject[]): JsonObject[] {
  const keyOf = ({ attempt, error }: JsonObject) => JSON.stringify([attempt, error])
  const known = new Set(
    history
      .map(({ detail }) => Object(detail))
      .filter(isFailure)
      .map(keyOf),
  )
  return logs.filter((line) => !isFailure(line) || !known.has(keyOf(line)))
}

function isFailure({ attempt, error }: JsonObject): boolean {
  return attempt !== undefined && error !== undefined
}

/** The time of day (UTC), with the date unless it is that of `start`. */
function timeFrom(start: string, at: unknown): string {
  const [day = '', time = ''] = new Date(Number(at)).toISOString().slice(0, 23).split('T')
  return start.startsWith(day) ? time : `${day} ${time}`
}

/** Maximum characters of the question of an approval; `approval show` has all of it. */
const MAX_QUESTION = 200

/** Shortens the question of an approval, and names the request instead of its key. */
function withoutQuestion({ text, key, ...rest }: JsonObject): JsonObject {
  const id = /^approval:([^:]+)/.exec(String(key))?.[1]
  if (id !== undefined) {
    const question = typeof text === 'string' ? shorten(text, MAX_QUESTION) : undefined
    return { ...defined({ text: question }), ...rest, 'request for approval': id }
  }
  return defined({ text, ...rest, key })
}

/** What the states of the receive road mean. */
const RECEIVE_STATES: Readonly<Record<string, string>> = {
  waiting: 'waiting, until a program pulls it',
  leased: 'leased to a program that works on it',
  taken: 'taken by a program, without a lease',
  acknowledged: 'acknowledged by a program',
  dead: 'dead: it has a dead letter',
}
const WORDS: Readonly<Record<string, string>> = { ms: 'took', delay: 'again in' }

/** Formats a detail such as `route rest, attempt 1`; the text of a reply comes first. */
function detailOf(detail: unknown): string {
  const { said, text, error, code, ...others } = withoutQuestion(Object(detail))
  // That a skill failed is in the text of its error.
  const rest = defined({ ...others, code: code === 'skill_failed' && error !== undefined ? undefined : code })
  const parts = Object.entries(rest).map(
    ([name, value]) => `${WORDS[name] ?? name} ${detailText(name, value)}`,
  )
  // A line of the log may have a field `text` beside its message.
  const texts = [said, text].filter((each) => each !== undefined).map((each) => JSON.stringify(each))
  const facts = [...texts, ...parts].join(', ')
  // An error may be long, so it is last.
  if (error === undefined) return facts
  return [facts, detailText('error', error)].filter((part) => part !== '').join(': ')
}

function detailText(name: string, value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value !== 'number') return JSON.stringify(value)
  return name === 'ms' || name === 'delay' ? durationText(value) : String(value)
}
