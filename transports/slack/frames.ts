import type { Socket } from 'node:net'
import { WebSocket } from 'ws'
import { z } from 'zod'
import { isJsonObject, type JsonObject, parseJson } from '../../src/core/json.ts'
import { perTurn } from '../../src/lib/per-turn.ts'

/** Something of Slack to acknowledge. */
export type Envelope = {
  envelope_id: string
  type: string
  payload: JsonObject
  retry_attempt?: number | undefined
}

/** Word of the connection itself. */
const noticeSchema = z.union([
  z.object({ type: z.literal('hello'), num_connections: z.number().default(1) }),
  z.object({ type: z.literal('disconnect'), reason: z.string().default('unknown') }),
])

type Notice = z.infer<typeof noticeSchema>

/** Reads what Slack sends over a socket. Undefined: it cannot be read. */
export function readFrame(written: string): { envelope: Envelope } | { notice: Notice } | undefined {
  const frame = parseJson(written)
  const envelope = readEnvelope(frame)
  if (envelope) return { envelope }
  const { data: notice } = noticeSchema.safeParse(frame)
  return notice && { notice }
}

/** By hand: hundreds come in a second, and a schema takes longer than the rest of the reading. */
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

/** Sends acknowledgements while the socket is open: those of one turn, such as of one flush of the store, in one write. */
export function createAcks(socket: WebSocket) {
  let wire: Socket | undefined
  socket.once('upgrade', (response) => {
    wire = response.socket
  })
  return perTurn((acks: { envelope_id: string; payload: object | undefined }[]) => {
    wire?.cork()
    // Without an answer JSON leaves `payload` out.
    for (const ack of acks) if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(ack))
    wire?.uncork()
  })
}
