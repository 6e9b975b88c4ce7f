import type { WebSocket } from 'ws'
import type { JsonObject } from '../../src/core/json.ts'
import type { WebsocketOptions } from './config.ts'

/**
 * Makes a writer of frames with back-pressure. Calls `tooSlow` when a client does not read for
 * `stall-timeout`.
 */
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
      // Errors are ignored: a frame lost with a broken socket is in the log, or the client repeats
      // its request.
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
