import type { LogEntry } from '../../core/activity.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { timeOf } from '../../core/message-id.ts'
import { senderText } from '../../engine/print/sender.ts'
import { defined } from '../../lib/defined.ts'

/**
 * An entry of the transcript, as messages.jsonl has it. A message has the role `user`, and each
 * answer the role `assistant`, also that of a person.
 */
export type Entry = LogEntry & { meta: JsonObject }

/** A line of messages.jsonl. */
export function entryOfLine(line: LogEntry): Entry {
  return { ...line, meta: isJsonObject(line.meta) ? line.meta : {} }
}

/** A message of the journal. */
export function entryOfMessage(message: JsonObject): Entry {
  const { id, conversation, from, gateway, subject, text } = message
  const { address, id: sender } = Object(from)
  const name = senderText(from)
  const isNamed = name !== '' && name !== (address ?? sender)
  return {
    time: new Date(timeOf(String(id))).toISOString(),
    channel: String(gateway),
    role: 'user',
    content: String(text ?? ''),
    meta: defined({
      messageId: id,
      conversation,
      from: address ?? sender,
      name: isNamed ? name : undefined,
      subject,
    }),
  }
}

/** An answer that was not sent, at the time at which it was written. Its dead letter has the id. */
export function entryOfLetter(letter: JsonObject): Entry {
  const { text, by, gateway, conversation, inReplyTo, to, subject, queuedAt, key } = Object(letter.data)
  const [error] = Array.isArray(letter.errors) ? letter.errors.slice(-1) : []
  const at = typeof queuedAt === 'number' ? queuedAt : Number(letter.at)
  return {
    time: new Date(at).toISOString(),
    channel: String(gateway ?? letter.group),
    role: 'assistant',
    content: String(text ?? ''),
    meta: defined({
      by,
      conversation,
      inReplyTo,
      to,
      subject,
      approval: /^approval:([^:]+)/.exec(String(key))?.[1],
      state: 'dead',
      error: isJsonObject(error) ? error.message : undefined,
      letter: letter.id,
    }),
  }
}

/** The decision about a request for an approval of a message; undefined while it is pending. */
export function entryOfDecision(approval: JsonObject): Entry | undefined {
  const { id, status, title, decidedAt, decidedBy: by, reason } = approval
  const { id: inReplyTo, gateway, conversation } = Object(approval.message)
  if (typeof decidedAt !== 'number' || status === 'pending' || gateway === undefined) return undefined
  const why = reason === undefined ? '' : `\nReason: ${reason}`
  return {
    time: new Date(decidedAt).toISOString(),
    channel: String(gateway),
    role: 'decision',
    content: `${status} approval ${id}: ${title}${why}`,
    meta: defined({ approval: id, status, by, conversation, inReplyTo }),
  }
}

export function isDecision({ role }: LogEntry): boolean {
  return role === 'decision'
}

export function isAnswer({ role }: LogEntry): boolean {
  return role === 'assistant'
}
