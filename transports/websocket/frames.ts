import { TriviumError } from '../../src/core/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/core/json.ts'
import { defined } from '../../src/lib/defined.ts'
import { isShallow } from '../../src/lib/shallow.ts'

/** What a client may say. */
export type ClientFrame = { id?: string; text: string; extra: JsonObject }

/** A frame that cannot be read; `id` is what the client called it, where that much could be read. */
export type BadFrame = { id?: string; error: TriviumError }

/**
 * Reads one frame of a client: `{"type":"message","id"?,"text",…}`; other fields are `extra`. Never throws.
 */
export function readFrame(raw: string, isBinary: boolean): ClientFrame | BadFrame {
  if (isBinary) return bad('frames must be text with JSON, not binary')
  const frame = parse(raw)
  if (!isJsonObject(frame)) return bad('a frame must be a JSON object such as {"type":"message","text":"hi"}')
  const { type, id: givenId, text, ...extra } = frame
  const id = typeof givenId === 'number' ? String(givenId) : givenId
  if (id !== undefined && (typeof id !== 'string' || id === '' || id.length > MAX_ID)) {
    return bad(`id must be text of 1 to ${MAX_ID} characters`)
  }
  if (type !== 'message') return bad('its type is not known; send "message"', id)
  if (typeof text !== 'string') return bad('text must be a string', id)
  const reserved = RESERVED.find((name) => Object.hasOwn(extra, name))
  if (reserved) return bad(`the field ${reserved} is reserved; choose another name`, id)
  if (!isShallow(extra, MAX_DEPTH)) return bad(`its fields are nested more than ${MAX_DEPTH} deep`, id)
  return { text, extra, ...defined({ id }) }
}

const MAX_ID = 200
const MAX_DEPTH = 100
/** Fields of `data` that mean something to the roads; a client must not set them. */
const RESERVED = ['format', 'respond', 'replyTarget', 'body']

function parse(raw: string): Json | undefined {
  try {
    return JSON.parse(raw)
  } catch {
    // The caller answers what a frame must be; the parser's words would quote the frame.
    return undefined
  }
}

function bad(reason: string, id?: string): BadFrame {
  return { error: new TriviumError('bad_request', { reason }), ...defined({ id }) }
}
