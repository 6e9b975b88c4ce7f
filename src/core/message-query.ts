import type { Message } from './message.ts'
import { timeOf } from './message-id.ts'

/**
 * What dispatch made of a message, and what became of its answer. `retrying`: an attempt failed and another comes. `approval`: it waits
 * for a decision. `dropped`: it was a dead letter. `unrouted`: no route took it. `merged`: it went into the call of another, or was
 * superseded. `bounced`: it was answered, and the answer came back. `suppressed`: its answer was not sent, as it is automatic mail, too
 * old, or the like.
 */
export const OUTCOMES = [
  'waiting',
  'running',
  'retrying',
  'approval',
  'done',
  'dead',
  'dropped',
  'merged',
  'unrouted',
  'bounced',
  'suppressed',
] as const

export type Outcome = (typeof OUTCOMES)[number]

/** Which messages are meant: all that is given must hold. Texts are parts, case aside; times are Unix ms, `until` is outside. */
export type MessageQuery = {
  gateways?: readonly string[] | undefined
  conversation?: string | undefined
  transport?: string | undefined
  /** The name of the event, as webhooks and Slack have one. */
  event?: string | undefined
  /** A part of the id, the name or the address. */
  sender?: string | undefined
  /** A part of the subject or of the first `SEARCHED` characters of the text. */
  text?: string | undefined
  since?: number | undefined
  until?: number | undefined
}

/** So many characters of a text are searched. */
export const SEARCHED = 16_000

/** Tells whether a message is one of those that a query means. */
export function createMatcher(query: MessageQuery): (message: Message) => boolean {
  const { gateways, conversation, transport, event, since = 0, until = Number.POSITIVE_INFINITY } = query
  const [sender, text] = [query.sender?.toLowerCase(), query.text?.toLowerCase()]
  const has = (part: string | undefined, wanted: string) => part?.toLowerCase().includes(wanted) ?? false
  return (message) => {
    if (gateways && !gateways.includes(message.gateway)) return false
    if (conversation !== undefined && conversation !== message.conversation) return false
    if (transport !== undefined && transport !== message.transport) return false
    if (event !== undefined && event !== message.data.event) return false
    const at = timeOf(message.id)
    if (at < since || at >= until) return false
    const { id, name, address } = message.from
    if (sender !== undefined && ![id, name, address].some((part) => has(part, sender))) return false
    return text === undefined || has(message.subject, text) || has(message.text.slice(0, SEARCHED), text)
  }
}

/**
 * Whether a text stands in JSON and in plain text alike, so that a store may look for it in the payload before it reads that. Stores
 * look for ASCII alone without regard to case. SQLite takes no LIKE of more than 50,000 bytes.
 */
export function isPlainText(text: string | undefined): text is string {
  return text !== undefined && /^[\w .,:;@#+*!?()=/-]{1,1000}$/.test(text)
}
