import type { Duplex } from 'node:stream'
import { WebSocket } from 'ws'

/** The acknowledgements of one socket. */
export type Acks = {
  /** Acknowledges an envelope; nothing happens where the socket has closed meanwhile. */
  add(envelopeId: string): void
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
    const ids = due
    due = []
    if (socket.readyState !== WebSocket.OPEN) return
    wire?.cork()
    for (const id of ids) socket.send(JSON.stringify({ envelope_id: id }))
    wire?.uncork()
  }

  return {
    add(envelopeId) {
      if (due.push(envelopeId) === 1) process.nextTick(flush)
    },
    flush,
  }
}
