import type { LogEntry } from '../../core/activity.ts'
import { NOTIFIER } from '../../core/author.ts'
import { type JsonObject, pathGet, toJson } from '../../core/json.ts'
import { isNamedIn } from './naming.ts'
import { gatewayIn } from './person.ts'
import type { Subject } from './place.ts'

/** A line of a log, in a file or on the way to the files of other daemons. */
type Line = LogEntry | JsonObject

/**
 * Whether a line of messages.jsonl is from the person or to them, also as the author of an answer to
 * someone else, or a notification that names them. Messages of others stay, even if they mention the
 * person.
 */
export function isLineOf({ channel, role, content, meta = null }: Line, { about, person }: Subject): boolean {
  const text = (path: string) => String(pathGet(meta, path) ?? '')
  const gateway = String(channel)
  if (person.messages.has(text('messageId')) || person.messages.has(text('inReplyTo'))) return true
  if (person.conversations.has(`${gateway}/${text('conversation')}`)) return true
  if (role === 'user') return about.isOn(gateway, text('from'))
  if (text('by') === NOTIFIER && about.isInKey(`${text('subject')}\n${content}`, gateway)) return true
  return about.isOn(gateway, text('to')) || about.mentions(text('by'), gateway)
}

/**
 * Whether a line of events.jsonl is about the person. The lines of messages of others stay, even if
 * they mention the person; errors and results of other work must not name them.
 */
export function isActivityOf(line: Line, { about }: Subject): boolean {
  const { messageId, error = null, result = null }: JsonObject = line
  if (about.refersTo(toJson(line))) return true
  return messageId === undefined && isNamedIn([error, result], about, gatewayIn(line))
}

/** Whether a line of pending_calls.jsonl is about the person. */
export function isCallOf(line: Line, { about }: Subject): boolean {
  return about.refersTo(toJson(line))
}
