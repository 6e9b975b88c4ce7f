import { z } from 'zod'
import { TriviumError } from '../../src/core/errors.ts'
import { MANY_VALUES } from '../../src/core/foreign-json.ts'
import { badRequest } from '../../src/core/invalid-args.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../src/core/json.ts'
import { defined } from '../../src/lib/defined.ts'
import { hasManyValues } from '../../src/lib/json-values.ts'
import { isShallow } from '../../src/lib/shallow.ts'

const MAX_DEPTH = 100
const frameId = z.union([z.string().min(1).max(200), z.number().transform(String)], {
  error: 'expected text of 1 to 200 characters',
})
/** A reserved name in `data`. */
const reserved = z.never('is reserved; choose another name').optional()
/** Frame of a client; other fields become `data`. */
const clientFrame = z.object(
  {
    type: z.literal('message', 'not known; send "message"'),
    id: frameId.optional(),
    text: z.string(),
    format: reserved,
    respond: reserved,
    replyTarget: reserved,
    body: reserved,
  },
  'a frame must be text with a JSON object such as {"type":"message","text":"hi"}',
)
/** A client asks whether the connection is alive: browsers cannot send pings of the protocol. */
const pingFrame = z
  .object({ type: z.literal('ping'), id: frameId.optional() })
  .describe('Asks whether the connection is alive. Clients may also send the text `ping`.')
const text = z.string()
const id = { id: text.optional() }
const replyFrame = z.looseObject({
  type: z.literal('message'),
  text,
  inReplyTo: text.optional(),
  seq: z.int(),
  subject: text.optional(),
  data: z.json().optional(),
  attachments: z.array(z.json()).optional(),
})
/** Frame of the daemon. */
const serverFrame = z.discriminatedUnion('type', [
  z
    .looseObject({ type: z.literal('welcome'), conversation: text, seq: z.int() })
    .describe('The first frame. `seq` is the number of the last reply before this connection.'),
  z
    .looseObject({ type: z.literal('ack'), ...id, messageId: text, duplicate: z.boolean().optional() })
    .describe('The message is durable. With `duplicate`, it was already accepted before.'),
  replyFrame.describe('A reply. `data` is what the skill or program gave.'),
  z
    .looseObject({ type: z.literal('delta'), text, inReplyTo: text })
    .describe('Part of a reply that a model is still writing. The complete reply follows as a `message`.'),
  z
    .looseObject({ type: z.literal('progress'), progress: z.json(), inReplyTo: text })
    .describe('Progress of the BullMQ job that produces the reply.'),
  z
    .looseObject({ type: z.literal('gap'), missed: z.int(), seq: z.int() })
    .describe('Retention removed `missed` replies, up to `seq`, before they were read.'),
  z.looseObject({ type: z.literal('pong'), ...id }).describe('The answer to a ping.'),
  z
    .looseObject({ type: z.literal('error'), ...id, code: text, message: text, retryable: z.boolean() })
    .describe('A frame was refused. The connection stays open. `code` is one of the errors.'),
])
/** For `/asyncapi.json`. */
export const frames = {
  client: z.union([clientFrame.describe('A message. Other fields become its `data`.'), pingFrame]),
  server: serverFrame,
}
export type ClientFrame = z.output<typeof clientFrame> & { extra: JsonObject }
const TOO_DEEP = `its fields are nested more than ${MAX_DEPTH} deep`

/**
 * The answer to a ping: `{"type":"ping"}`, or the word that libraries send. Undefined for other
 * frames.
 */
export function pongFor(raw: string, isBinary: boolean): JsonObject | undefined {
  // Most frames are messages, which are parsed once.
  if (isBinary || raw.length > MAX_PING || !raw.includes('ping')) return undefined
  const frame = raw.trim() === 'ping' ? { type: 'ping' } : parseJson(raw)
  const { data } = pingFrame.safeParse(frame)
  return data && { type: 'pong', ...defined({ id: data.id }) }
}

/** Maximum characters of a ping. */
const MAX_PING = 300

/**
 * Parses a client's frame. For an invalid frame, returns the error and the `id` if readable. Never
 * throws.
 */
export function readFrame(raw: string, isBinary: boolean) {
  if (!isBinary && hasManyValues(raw))
    return { error: new TriviumError('bad_request', { reason: MANY_VALUES }) }
  // The parser's error would quote the frame.
  const frame = isBinary ? undefined : parseJson(raw)
  const { type: _type, id: rawId, text: _text, ...extra } = isJsonObject(frame) ? frame : {}
  const { data, error } = clientFrame.safeParse(frame)
  if (data && isShallow(extra, MAX_DEPTH)) return { ...data, extra }
  return {
    ...defined({ id: frameId.safeParse(rawId).data }),
    error: error ? badRequest(error, frame) : new TriviumError('bad_request', { reason: TOO_DEEP }),
  }
}
