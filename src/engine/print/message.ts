import { stringify } from 'yaml'
import { type Json, type JsonObject, objectsIn } from '../../core/json.ts'
import { timeOf } from '../../core/readable.ts'
import { defined } from '../../lib/defined.ts'
import { table } from '../../lib/text-table.ts'

/** `message-show`: a message without fields that only programs need, and its history. */
export function humanMessage(found: Json): string {
  const { message, outcome, history, logs, pushes, receive, events, traceUrl } = Object(found)
  const { text, html: _html, data, receivedAt, attachments, ...head } = message
  const received = new Date(Number(receivedAt)).toISOString()
  const lines = objectsIn(logs).map(({ at, level, message: text, stack: _, ...fields }) => {
    return { at, road: 'log', what: level, detail: { text, ...fields } }
  })
  const notes = [...objectsIn(history), ...lines]
    .toSorted((a, b) => Number(a.at) - Number(b.at))
    .map(({ at, road, what, detail }) => [timeFrom(received, at), road, what, detailOf(detail)])
  const files = objectsIn(attachments).map(({ name, type, size }) => `${name} (${type}, ${size} bytes)`)
  const attempts = objectsIn(pushes).map(({ subscription, at, attempt, status, reason }) => [
    subscription,
    timeOf(at),
    attempt,
    status ?? reason,
  ])
  const until = receive.until && { until: timeFrom(received, receive.until) }
  return [
    stringify({
      received,
      outcome,
      ...head,
      ...recipientsOf(head, data),
      ...(files.length > 0 && { files }),
      ...(traceUrl && { traceUrl }),
    }),
    String(text ?? ''),
    '',
    table(['time', 'road', 'what', ''], notes),
    '',
    stringify({ receive: { ...receive, ...until }, events }).trimEnd(),
    ...(attempts.length > 0 ? ['', table(['push', 'time', 'attempt', 'result'], attempts)] : []),
  ].join('\n')
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

/** The question of an approval is long, and `approval list` has it. */
function withoutQuestion({ text, key, ...rest }: JsonObject): JsonObject {
  const id = /^approval:([^:]+)/.exec(String(key))?.[1]
  if (id !== undefined) return { ...rest, 'request for approval': id }
  return defined({ text, ...rest, key })
}

/** Formats a detail such as `route rest, attempt 1`; the text of a reply comes first. */
function detailOf(detail: unknown): string {
  const { text, ...rest } = withoutQuestion(Object(detail))
  const parts = Object.entries(rest).map(
    ([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  return [...(text === undefined ? [] : [JSON.stringify(text)]), ...parts].join(', ')
}
