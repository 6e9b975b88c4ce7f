import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { type Printers, timeOf } from '../../core/readable.ts'
import { counted } from '../../lib/counted.ts'
import { age, shorten, shortId } from '../../lib/short-text.ts'
import { listTable, table } from '../../lib/text-table.ts'
import { humanMessage } from './message.ts'

export const printers: Printers = {
  'message-list': humanMessages,
  'message-search': humanMessages,
  'message-show': humanMessage,
  'message-attempts': humanAttempts,
  'message-histogram': humanHistogram,
  'message-resend': humanResend,
  'message-retry': humanRetryNow,
  'message-replay': humanReplay,
  'conversation-list': humanConversations,
  'conversation-show': humanConversation,
}

/** Maximum characters of a text in a list. */
const LONGEST_TEXT = 100

/** `message list` and `message search`; only the latter has outcomes. */
export function humanMessages(found: Json): string {
  const messages = objectsIn(Array.isArray(found) ? found : pathGet(found, 'messages'))
  const rows = messages.map(({ id, at, receivedAt, gateway, from, outcome, subject, summary, text }) => {
    const content = shorten(String(subject ?? summary ?? text ?? ''), LONGEST_TEXT)
    return [shortId(id), age(at ?? receivedAt), gateway, nameOf(from), outcome, content]
  })
  const next = pathGet(found, 'next')
  const list =
    rows.length === 0 ? 'No messages.' : listTable(['id', 'age', 'gateway', 'from', 'outcome', 'text'], rows)
  return next === undefined ? list : `${list}\nOlder ones: --before ${next}`
}

/** `message-attempts`. */
function humanAttempts(found: Json): string {
  const rows = objectsIn(found).map(({ id, route, attempt, ms, what, since, error, unsent }) => {
    const took = since === undefined ? `${ms} ms` : `for ${age(since)}`
    return [shortId(id), route, attempt, what ?? 'running', took, shorten(String(error ?? unsent ?? ''), 80)]
  })
  return rows.length === 0
    ? 'No attempts.'
    : listTable(['id', 'route', 'attempt', 'state', 'took', 'why'], rows)
}

/** `conversation-list`. */
function humanConversations(found: Json): string {
  const rows = objectsIn(pathGet(found, 'conversations')).map(
    ({ at, gateway, from, conversation, messages, outcome, waitingSince, subject, summary, text }) => [
      ...[age(at), gateway, nameOf(from), messages],
      waitingSince === undefined ? outcome : `waits ${age(waitingSince)}`,
      shorten(String(subject ?? summary ?? text ?? ''), 50),
      conversation,
    ],
  )
  const next = pathGet(found, 'next')
  if (rows.length === 0) return 'No conversations.'
  const list = table(['age', 'gateway', 'from', 'messages', 'outcome', 'newest', 'conversation'], rows)
  return next === undefined ? list : `${list}\nOlder ones: --before ${next}`
}

/** `conversation-show`: the messages and replies, oldest first. */
function humanConversation(found: Json): string {
  const lines = objectsIn(pathGet(found, 'entries')).map(
    ({ role, at, from, id, outcome, skill, subject, text }) => {
      const isInbound = role === 'sender'
      const author = isInbound ? nameOf(from) : (skill ?? 'reply')
      const head = `${timeOf(at)}  ${isInbound ? '←' : '→'} ${author}${isInbound ? `  ${outcome}  ${id}` : ''}`
      const content = [subject && `${subject}:`, text].filter(Boolean).join(' ').replaceAll('\n', '\n    ')
      return `${head}\n    ${content}`
    },
  )
  const next = pathGet(found, 'next')
  if (lines.length === 0) return 'No messages.'
  return [...(next === undefined ? [] : [`Older ones: --before ${next}`]), ...lines].join('\n')
}

/** The longest bar, in characters. */
const BAR_LENGTH = 40

/** `message-histogram`. */
function humanHistogram(found: Json): string {
  const { from, width, counts, total } = Object(found)
  const spans: unknown[] = Array.isArray(counts) ? counts : []
  const highest = Math.max(1, ...spans.map(Number))
  const rows = spans.map((count, index) => [
    timeOf(from + index * width),
    count,
    '█'.repeat(Math.ceil((Number(count) / highest) * BAR_LENGTH)),
  ])
  return `${table(['from', 'messages', ''], rows)}\n${total} in all`
}

function nameOf(from: unknown): unknown {
  return pathGet(from, 'address') ?? pathGet(from, 'name') ?? pathGet(from, 'id')
}

/** `message-resend`. */
function humanResend(result: Json): string {
  const { id, resends } = Object(result)
  return `Accepted again as ${id}; it is answered where ${resends} came from.`
}

/** `message-retry`. */
function humanRetryNow(result: Json): string {
  return `The next attempt on message ${pathGet(result, 'id')} begins now.`
}

/** `message-replay`, and `route replay`. */
export function humanReplay(found: Json, args: JsonObject): string {
  const { seen, routed, routes, unrouted, answered, more } = Object(found)
  const lines = Object.entries(Object(routes)).map(([route, count]) => `  ${count} to ${route}`)
  return [
    `${counted(seen, 'message')} looked at, ${routed} ${args.dryRun ? 'would be ' : ''}routed, ${unrouted} still without a route.`,
    ...lines,
    ...(answered > 0 ? [`${answered} left out: a worker has already answered.`] : []),
    ...(more > 0 ? [`${more} more, newer than these: run it again.`] : []),
  ].join('\n')
}
