import { z } from 'zod'
import { type JsonObject, jsonObjectSchema, objectAt, parseJson } from './json.ts'
import { hexOf } from './message-id.ts'

/**
 * A file that came with a message. The bytes are an artifact; `path` is relative to the data dir.
 */
export const attachmentSchema = z.object({
  name: z.string(),
  type: z.string(),
  size: z.number(),
  sha256: z.string(),
  path: z.string(),
})

export type Attachment = z.infer<typeof attachmentSchema>

const senderSchema = z.object({
  /** Stable within its transport. */
  id: z.string(),
  name: z.string().exactOptional(),
  /** Where replies can go. */
  address: z.string().exactOptional(),
  /**
   * The identity is proven (signature, token, DMARC). Access rules treat other senders as unknown.
   */
  verified: z.boolean().exactOptional(),
  /** The sender is of another workspace that shares the channel (Slack Connect). */
  external: z.boolean().exactOptional(),
  /** The sender's groups at the provider, as far as the gateway tracks them. */
  groups: z.array(z.string()).exactOptional(),
})

export type Sender = z.infer<typeof senderSchema>

/**
 * One inbound message, immutable once accepted. The defaults are for hand-written messages that
 * test routes.
 */
export const messageSchema = z.object({
  /** UUIDv7 (RFC 9562), assigned by the store on acceptance. Sorts in journal order. */
  id: z.string().default('00000000-0000-7000-8000-000000000000'),
  /** The gateway's name in routes.yaml. */
  gateway: z.string(),
  /** The kind of transport: `webhook`, `websocket`, `cli`, `email`, `slack`, `bullmq`. */
  transport: z.string(),
  /** The thread, connection or mail thread. A single message is a conversation of its own. */
  conversation: z.string().default(''),
  /** Idempotency key, from the transport's stable id. Absent if the sender gave none. */
  key: z.string().exactOptional(),
  /** Unix time in milliseconds. */
  receivedAt: z.number().default(0),
  from: senderSchema.default({ id: '' }),
  to: z.string().exactOptional(),
  subject: z.string().exactOptional(),
  text: z.string().default(''),
  html: z.string().exactOptional(),
  /** The transport's own fields. */
  data: jsonObjectSchema.default({}),
  attachments: z.array(attachmentSchema).default([]),
  /** W3C trace id (32 hex digits). */
  trace: z.string().default(''),
})

export type Message = z.infer<typeof messageSchema>

/** Whether a machine wrote the message: an automatic email, which nobody expects to be answered. */
export function isAutomatic({ data }: Pick<Message, 'data'>): boolean {
  return data.auto !== undefined
}

/** Whether somebody submitted the message as a test (`test` of `submissionSchema`). */
export function isTest({ data }: Pick<Message, 'data'>): boolean {
  return objectAt(data, 'replyTarget').test === true
}

/** A message before acceptance. `conversation` and `trace` are the id of the message by default. */
export type NewMessage = Omit<Message, 'id' | Defaulted> & Partial<Pick<Message, Defaulted>>
/** The fields that acceptance fills in if they are absent. */
type Defaulted = 'conversation' | 'receivedAt' | 'trace' | 'attachments'

/**
 * Reads of several messages stop after this many characters. The Lua scripts of the Redis store
 * repeat the number.
 */
export const LARGE_READ = 4_000_000

/** Result of `accept` for one message. */
export type Accepted = {
  /** The id of the message, or of the first one with the same key. */
  id: string
  /** Whether an earlier message has the same key. */
  duplicate: boolean
  /** Why this message was refused while others of the same call were accepted. */
  error?: Error
}

/** The fields that the store keeps outside the payload. */
export type MessageHead = { id: string; gateway: string; receivedAt: number }

/**
 * Serialises everything but the head: a line of JSON, then the raw text, which takes a third of the
 * time of escaping it. If `data.body` is the parsed `text` (webhooks), it is not stored but parsed
 * again on reading.
 */
export function encodeMessage(message: NewMessage): string {
  const { line, text } = encodeLineAndText(message)
  return text === undefined ? line : `${line}\n${text}`
}

/**
 * The JSON line and the text of `encodeMessage`, for a store that can join them itself: joining
 * them here would copy the text.
 */
export function encodeLineAndText(message: NewMessage): { line: string; text: string | undefined } {
  const { text, data, attachments } = message
  // The text can be raw if UTF-8 and SQLite preserve it. JSON escapes line ends, so the first line
  // end of the result ends the JSON.
  const canBeRaw = text.isWellFormed() && !text.includes('\0')
  // One object literal is cheaper than copies with a rest pattern. JSON leaves out undefined.
  const stored = {
    transport: message.transport,
    key: message.key,
    conversation: message.conversation,
    from: message.from,
    to: message.to,
    subject: message.subject,
    html: message.html,
    trace: message.trace,
    data: data.format === 'json' ? withoutBody(data) : data,
    attachments: attachments?.length ? attachments : undefined,
    text: canBeRaw ? undefined : text,
  } satisfies Record<keyof Stored, unknown>
  return { line: JSON.stringify(stored), text: canBeRaw ? text : undefined }
}

function withoutBody(data: JsonObject): object {
  return { ...data, body: undefined }
}

/** The inverse of `encodeMessage`. */
export function decodeMessage(head: MessageHead, payload: string): Message {
  const end = payload.indexOf('\n')
  // Written by `encodeMessage`.
  const stored = JSON.parse(end < 0 ? payload : payload.slice(0, end)) as Stored
  if (end >= 0) stored.text = payload.slice(end + 1)
  if (stored.data.format === 'json' && stored.data.body === undefined) {
    const body = parseJson(stored.text)
    // A text that is not JSON after all must not make the message unreadable.
    stored.data.body = body === undefined ? stored.text : body
  }
  return completeMessage(head, stored)
}

/** What `encodeMessage` serialises. */
type Stored = Omit<NewMessage, 'gateway' | 'receivedAt'>

/** A message with its head and defaults, as it is after acceptance. */
export function completeMessage({ id, gateway, receivedAt }: MessageHead, message: Stored): Message {
  return {
    ...message,
    id,
    gateway,
    receivedAt,
    conversation: message.conversation ?? id,
    attachments: message.attachments ?? [],
    trace: message.trace ?? hexOf(id),
  }
}

const idText = z.string().min(1).max(500).exactOptional()

/**
 * A message that an operator or a program submits through a gateway. `wait`: ms to wait for
 * replies.
 */
export const submissionSchema = z.strictObject({
  gateway: z.string().min(1).describe('The gateway through which it arrives'),
  text: z.string().describe('The text'),
  conversation: idText.describe('The conversation; default: that of such a delivery, or a new one'),
  from: idText.describe('The sender'),
  key: idText.describe('Idempotency key: accepted once per gateway'),
  request: idText.describe(
    'A random id of this request: a repetition with the same key and request is no duplicate',
  ),
  subject: z.string().exactOptional().describe('The subject'),
  data: jsonObjectSchema.exactOptional().describe('Fields of the transport, as matched by routes'),
  test: z
    .literal(true)
    .exactOptional()
    .describe('Marks it as a test in lists; it is processed like any other'),
  wait: z.number().min(0).max(600_000).default(0).describe('How long to wait for replies, in ms'),
})

export type Submission = z.infer<typeof submissionSchema>
