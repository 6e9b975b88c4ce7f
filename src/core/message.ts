import { z } from 'zod'
import { type JsonObject, jsonObjectSchema, parseJson } from './json.ts'
import { hexOf } from './message-id.ts'

/** A file that came with a message. The bytes are an artifact; `path` is relative to the data dir. */
export const attachmentSchema = z.object({
  name: z.string(),
  type: z.string(),
  size: z.number(),
  sha256: z.string(),
  path: z.string(),
})

export type Attachment = z.infer<typeof attachmentSchema>

/**
 * `id` is stable within its transport; `address`: where a reply could go. `verified`: there is proof that it was them (a signature, a
 * token, DMARC); access rules count no other. `external`: of another workspace, which shares a channel (Slack Connect).
 * `groups`: groups of its provider that the sender is in, as far as the gateway looks after them.
 */
const senderSchema = z.object({
  id: z.string(),
  name: z.string().exactOptional(),
  address: z.string().exactOptional(),
  verified: z.boolean().exactOptional(),
  external: z.boolean().exactOptional(),
  groups: z.array(z.string()).exactOptional(),
})

export type Sender = z.infer<typeof senderSchema>

/** One inbound message, immutable once accepted. The defaults are for messages written by hand, to try routes. */
export const messageSchema = z.object({
  /** UUIDv7 (RFC 9562), given by the store when the message is accepted. Sorts in journal order. */
  id: z.string().default('00000000-0000-7000-8000-000000000000'),
  /** The gateway's name in routes.yaml. */
  gateway: z.string(),
  /** The kind of transport: `webhook`, `websocket`, `cli`, `email`, `slack`, `bullmq`. */
  transport: z.string(),
  /** What belongs together: a thread, a connection, a mail thread. A message alone is its own conversation. */
  conversation: z.string().default(''),
  /** The idempotency key from the transport's own stable id; absent where the sender gave none. */
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

/** What a transport hands to `accept`. Without `conversation` and `trace` the id of the message is in their place. */
export type NewMessage = Omit<Message, 'id' | Given> & Partial<Pick<Message, Given>>
type Given = 'conversation' | 'receivedAt' | 'trace' | 'attachments'

/** Over so many characters a read of several messages returns fewer. The Lua scripts of the Redis store have the same number. */
export const LARGE_READ = 4_000_000

/**
 * The answer to `accept`: the id of the message, or of the first one with the same key. `error`: why this one was not accepted, where
 * others of the same call were.
 */
export type Accepted = { id: string; duplicate: boolean; error?: Error }

/** The parts of a message that the store keeps outside of the payload. */
export type MessageHead = { id: string; gateway: string; receivedAt: number }

/**
 * Serialises what a message's head does not hold: a line of JSON, then the text as it is, which takes a third of the time that
 * escaping it takes. Where `data.body` is the parsed `text` (webhooks), it is parsed again on reading.
 */
export function encodeMessage(message: NewMessage): string {
  const { text, data, attachments } = message
  // What comes through UTF-8 and SQLite as it is. JSON escapes line ends, so the first one is the end of the line.
  const isPlain = text.isWellFormed() && !text.includes('\0')
  // One literal: copying objects with a rest costs more than writing them. JSON leaves out what is undefined.
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
    text: isPlain ? undefined : text,
  } satisfies Record<keyof Stored, unknown>
  const line = JSON.stringify(stored)
  return isPlain ? `${line}\n${text}` : line
}

function withoutBody(data: JsonObject): object {
  return { ...data, body: undefined }
}

/** The inverse of `encodeMessage`. */
export function decodeMessage(head: MessageHead, payload: string): Message {
  const end = payload.indexOf('\n')
  const stored = JSON.parse(end < 0 ? payload : payload.slice(0, end)) as Stored
  if (end >= 0) stored.text = payload.slice(end + 1)
  if (stored.data.format === 'json' && stored.data.body === undefined) {
    const body = parseJson(stored.text)
    // What is no JSON after all, whoever stored it, must not make its message unreadable.
    stored.data.body = body === undefined ? stored.text : body
  }
  return completeMessage(head, stored)
}

type Stored = Omit<NewMessage, 'gateway' | 'receivedAt'>

/** A message as it is once it is accepted. */
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

/** A message that an operator or a program puts through a gateway with the control token. `wait`: ms for the replies. */
export const submissionSchema = z.strictObject({
  gateway: z.string().min(1).describe('The gateway that it comes in by'),
  text: z.string().describe('What it says'),
  conversation: idText.describe('What it belongs to; by default it stands alone'),
  from: idText.describe('Who writes'),
  key: idText.describe('The same key is accepted once on a gateway'),
  subject: z.string().exactOptional().describe('The subject'),
  data: jsonObjectSchema.exactOptional().describe('Fields of the transport, as routes match them'),
  wait: z.number().min(0).max(600_000).default(0).describe('Wait that many ms for the replies'),
})

export type Submission = z.infer<typeof submissionSchema>
