import type { RawData } from 'ws'
import { z } from 'zod'
import { isJsonObject, type JsonObject } from '../../src/core/json.ts'

/** One thing that Slack delivers; `type` is events_api, slash_commands or interactive. */
export type Envelope = { id: string; type: string; payload: JsonObject }

/** The frames that are about the connection itself. */
const controlSchema = z.union([
  z.object({ type: z.literal('hello'), num_connections: z.number().optional() }),
  z.object({ type: z.literal('disconnect'), reason: z.string().optional() }),
])

type Control = z.infer<typeof controlSchema>

/** Reads a frame; undefined where it is none that we know. */
export function readFrame(raw: RawData): Envelope | Control | undefined {
  let frame: unknown
  try {
    frame = JSON.parse(String(raw))
  } catch {
    return undefined
  }
  return isJsonObject(frame) && frame.envelope_id !== undefined
    ? readEnvelope(frame)
    : controlSchema.safeParse(frame).data
}

/** By hand: a schema takes as long as parsing the JSON did. A payload that comes again says for which time. */
function readEnvelope({ envelope_id: id, type, payload, retry_attempt }: JsonObject): Envelope | undefined {
  if (typeof id !== 'string' || typeof type !== 'string' || !isJsonObject(payload)) return undefined
  if (typeof retry_attempt === 'number' && retry_attempt > 0) payload.retry_attempt = retry_attempt
  return { id, type, payload }
}
