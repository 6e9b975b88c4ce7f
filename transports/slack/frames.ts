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

/** Parses a frame from Slack's socket. Undefined if it is neither an envelope nor a notice. */
export function readFrame(text: string): { envelope: Envelope } | { notice: Notice } | undefined {
  const frame = parseJson(text)
  const envelope = readEnvelope(frame)
  if (envelope) return { envelope }
  const { data: notice } = noticeSchema.safeParse(frame)
  return notice && { notice }
}

/** Without a schema, whose cost would dominate at hundreds of frames a second. */
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

/**
 * Creates the function that sends acknowledgements while the socket is open. Those of one turn are
 * written together: the store usually makes several envelopes durable at once.
 */
export function createAcks(socket: WebSocket) {
  let tcpSocket: Socket | undefined
  socket.once('upgrade', (response) => {
    tcpSocket = response.socket
  })
  return perTurn((acks: { envelope_id: string; payload: object | undefined }[]) => {
    tcpSocket?.cork()
    // JSON omits an undefined `payload`.
    for (const ack of acks) if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(ack))
    tcpSocket?.uncork()
  })
}
