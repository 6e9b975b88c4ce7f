import { type Json, objectsIn, pathGet } from '../../core/json.ts'
import { age, listTable, shorten, shortId, table } from '../terminal.ts'
import { timeOf } from './readable.ts'

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
export function humanAttempts(found: Json): string {
  const rows = objectsIn(found).map(({ id, route, attempt, ms, what, since, error, unsent }) => {
    const took = since === undefined ? `${ms} ms` : `for ${age(since)}`
    return [shortId(id), route, attempt, what ?? 'running', took, shorten(String(error ?? unsent ?? ''), 80)]
  })
  return rows.length === 0
    ? 'No attempts.'
    : listTable(['id', 'route', 'attempt', 'state', 'took', 'why'], rows)
}

/** `conversation-list`. */
export function humanConversations(found: Json): string {
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
export function humanConversation(found: Json): string {
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
export function humanHistogram(found: Json): string {
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
