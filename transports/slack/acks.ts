import type { Duplex } from 'node:stream'
import { WebSocket } from 'ws'
import type { JsonObject } from '../../src/core/json.ts'

/** The acknowledgements of one socket. */
export type Acks = {
  /** Acknowledges an envelope, with an answer where there is one; nothing happens where the socket has closed meanwhile. */
  add(envelopeId: string, payload?: JsonObject): void
  /** Sends at once what is due. */
  flush(): void
}

/**
 * Sends the acknowledgements that become due together in one write: what became durable with one commit of the store
 * is acknowledged in one turn of the event loop, and a write of its own would cost more than all else of an ack.
 */
export function createAcks(socket: WebSocket): Acks {
  let due: string[] = []
  let wire: Duplex | undefined
  socket.once('upgrade', (response) => {
    wire = response.socket
  })

  const flush = () => {
    const frames = due
    due = []
    if (socket.readyState !== WebSocket.OPEN) return
    wire?.cork()
    for (const frame of frames) socket.send(frame)
    wire?.uncork()
  }

  return {
    add(envelopeId, payload) {
      // Without an answer JSON leaves `payload` out.
      if (due.push(JSON.stringify({ envelope_id: envelopeId, payload })) === 1) process.nextTick(flush)
    },
    flush,
  }
}
