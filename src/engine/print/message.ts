import { stringify } from 'yaml'
import { type Json, type JsonObject, objectsIn } from '../../core/json.ts'
import { secondOf, timeOf } from '../../core/readable.ts'
import { ageText } from '../../lib/age-text.ts'
import { answerText } from '../../lib/answer-text.ts'
import { commandText } from '../../lib/command-text.ts'
import { defined } from '../../lib/defined.ts'
import { durationText } from '../../lib/duration-text.ts'
import { shorten } from '../../lib/short-text.ts'
import { table } from '../../lib/text-table.ts'

/** `message-show`: a message without fields that only programs need, and its history. */
export function humanMessage(found: Json): string {
  const { message, outcome, history, logs, pushes, receive, events, next, traceUrl, unanswerable } =
    Object(found)
  const { text, html: _html, data, receivedAt, attachments, ...head } = message
  const received = new Date(Number(receivedAt)).toISOString()
  const lines = withoutFailures(objectsIn(logs), objectsIn(history)).map(
    ({ at, level, message: text, stack: _, ...fields }) => {
      return { at, road: 'log', what: level, detail: { text, ...fields } }
    },
  )
  const notes = [...objectsIn(history), ...lines]
    .toSorted((a, b) => Number(a.at) - Number(b.at))
    .map(({ at, road, what, detail }) => [timeFrom(received, at), road, what, detailOf(detail)])
  const files = objectsIn(attachments).map(({ name, type, size }) => `${name} (${type}, ${size} bytes)`)
  const attempts = objectsIn(pushes).map(({ subscription, at, attempt, status, reason, answer }) => [
    subscription,
    timeOf(at),
    attempt,
    reason === undefined ? status : [reason, answerText(String(answer ?? ''))].filter(Boolean).join(': '),
  ])
  const retry = outcome === 'dead' ? ['', nextSteps(head.id)] : []
  const until = receive.until && { until: timeFrom(received, receive.until) }
  return [
    stringify({
      received,
      outcome,
      ...(next && { next: nextOf(next) }),
      ...head,
      ...recipientsOf(head, data),
      ...(files.length > 0 && { files }),
      ...(traceUrl && { traceUrl }),
      ...(unanswerable && { answer: `not possible: ${unanswerable}` }),
    }),
    String(text ?? ''),
    '',
    table(['time', 'road', 'what', ''], notes),
    '',
    stringify({
      receive: { ...receive, state: RECEIVE_STATES[receive.state] ?? receive.state, ...until },
      ...(objectsIn(events).length > 0 && { events: objectsIn(events).map(groupOf) }),
    }).trimEnd(),
    ...(attempts.length > 0 ? ['', table(['push', 'time', 'attempt', 'result'], attempts)] : []),
    ...retry,
  ].join('\n')
}

/** What one can do about a dead letter: of the commands, `show` has its whole errors. */
function nextSteps(id: string): string {
  const commands = ['show', 'retry', 'drop'].map((verb) => commandText(`dead-letter ${verb}`, id))
  return ['To see its errors, retry it or remove it:', ...commands.map((each) => `  ${each}`)].join('\n')
}

/** `attempt 4 of 30, 2026-11-29 12:50:03 UTC (in 7 min); …`, of a message that is retried. */
function nextOf({ at, attempt, of, givesUpAt }: JsonObject): string {
  const left = Number(at) - Date.now()
  const when = `${secondOf(at)} (${left > 0 ? `in ${ageText(left)}` : 'now'})`
  if (of === undefined) return `attempt ${attempt}, ${when}`
  const end = attempt === of ? 'the last one' : `gives up after attempt ${of}, about ${timeOf(givesUpAt)}`
  return `attempt ${attempt} of ${of}, ${when}; ${end}`
}

/** A group that reads the event. The one of a push has the last attempt, in words. */
function groupOf({ push, open, ...group }: JsonObject): JsonObject {
  if (push === undefined) return { ...group, ...defined({ open }) }
  const { attempt, reason, nextAt } = Object(push)
  if (reason === undefined)
    return { ...group, push: attempt === undefined ? 'delivered or queued' : `attempt ${attempt}` }
  const left = Number(nextAt) - Date.now()
  const next = nextAt === undefined ? '' : `; the next one ${left > 0 ? `in ${ageText(left)}` : 'is due'}`
  return { ...group, push: `attempt ${attempt} failed: ${reason}${next}` }
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

/** All recipients of a mail: `to` of the message is only the address of the gateway. */
function recipientsOf({ transport }: { transport?: Json }, data: unknown): Record<string, string> {
  const { to, cc } = Object(data)
  const lists = Object.entries({ to, cc }).filter(([, list]) => Array.isArray(list) && list.length > 0)
  return transport === 'email' ? Object.fromEntries(lists.map(([key, list]) => [key, list.join(', ')])) : {}
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
  const { text, error, code, ...others } = withoutQuestion(Object(detail))
  // That a skill failed is in the text of its error.
  const rest = defined({ ...others, code: code === 'skill_failed' && error !== undefined ? undefined : code })
  const parts = Object.entries(rest).map(
    ([name, value]) => `${WORDS[name] ?? name} ${detailText(name, value)}`,
  )
  const facts = [...(text === undefined ? [] : [JSON.stringify(text)]), ...parts].join(', ')
  // An error may be long, so it is last.
  if (error === undefined) return facts
  return [facts, detailText('error', error)].filter((part) => part !== '').join(': ')
}

function detailText(name: string, value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value !== 'number') return JSON.stringify(value)
  return name === 'ms' || name === 'delay' ? durationText(value) : String(value)
}
