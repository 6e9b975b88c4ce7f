import type { WebSocket } from 'ws'
import type { JsonObject } from '../../src/core/json.ts'
import type { WebsocketOptions } from './config.ts'

/** Writes frames to a socket, with back-pressure. `tooSlow` is called when a client does not read for `stall-timeout`. */
export function createSocketWriter(
  socket: WebSocket,
  options: Pick<WebsocketOptions, 'max-buffer' | 'stall-timeout'>,
  tooSlow: () => void,
) {
  const isFull = () => socket.bufferedAmount > options['max-buffer']

  return {
    isFull,
    /** Resolves once the socket has room again. */
    async send(frame: JsonObject): Promise<void> {
      if (socket.readyState !== socket.OPEN) return
      // Frames lost with a broken socket are in the log, or are repeated by the client.
      const written = new Promise<void>((resolve) => socket.send(JSON.stringify(frame), () => resolve()))
      if (!isFull()) return
      const stalled = setTimeout(() => {
        if (socket.readyState === socket.OPEN) tooSlow()
      }, options['stall-timeout'])
      await written
      clearTimeout(stalled)
    },
  }
}
