import type { Socket } from 'node:net'
import { WebSocket } from 'ws'
import { z } from 'zod'
import { isJsonObject, type JsonObject, parseJson } from '../../src/core/json.ts'
import { perTurn } from '../../src/lib/per-turn.ts'

/** A Slack envelope to acknowledge. */
export type Envelope = {
  envelope_id: string
  type: string
  payload: JsonObject
  retry_attempt?: number | undefined
}

/** A notice about the connection itself. */
const noticeSchema = z.union([
  z.object({ type: z.literal('hello'), num_connections: z.number().default(1) }),
  z.object({ type: z.literal('disconnect'), reason: z.string().default('unknown') }),
])

type Notice = z.infer<typeof noticeSchema>

/** Parses a frame from Slack's socket. Undefined if it is unreadable. */
export function readFrame(written: string): { envelope: Envelope } | { notice: Notice } | undefined {
  const frame = parseJson(written)
  const envelope = readEnvelope(frame)
  if (envelope) return { envelope }
  const { data: notice } = noticeSchema.safeParse(frame)
  return notice && { notice }
}

/** Parsed by hand: a schema would dominate the cost at hundreds of frames a second. */
function readEnvelope(frame: unknown): Envelope | undefined {
  if (!isJsonObject(frame)) return undefined
  const { envelope_id, type, payload, retry_attempt } = frame
  if (typeof envelope_id !== 'string' || typeof type !== 'string' || !isJsonObject(payload)) return undefined
  return {
    envelope_id,
    type,
    payload,
    retry_attempt: typeof retry_attempt === 'number' ? retry_attempt : undefined,
  }
}

/** Sends acknowledgements while the socket is open, batched per turn (usually one flush of the store). */
export function createAcks(socket: WebSocket) {
  let wire: Socket | undefined
  socket.once('upgrade', (response) => {
    wire = response.socket
  })
  return perTurn((acks: { envelope_id: string; payload: object | undefined }[]) => {
    wire?.cork()
    // JSON omits an undefined `payload`.
    for (const ack of acks) if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(ack))
    wire?.uncork()
  })
}
