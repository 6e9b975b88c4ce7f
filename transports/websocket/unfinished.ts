import type { Duplex } from 'node:stream'
import type { RawData, WebSocket } from 'ws'

/** The most memory (bytes) that the unfinished messages of all connections of a gateway may take. */
const TOTAL = 64 * 1024 * 1024
/** What a read costs besides its bytes, and what the fragments of one message cost at most: each is an object. */
const READ = 512
const FRAGMENTS = 1_024
const FRAGMENT = 128

/** Limits for `ws`: within them one connection cannot take much more memory than the bytes that it sends. */
export const fragmentLimits = (maxFrame: number) => ({
  maxFragments: FRAGMENTS,
  maxBufferedChunks: Math.max(4_096, Math.ceil(maxFrame / 256)),
})

/** The header of a frame and its mask, at most and at least. */
const [HEADER, SHORT_HEADER] = [14, 6]

/**
 * Bounds what the connections of a gateway hold of messages that have not ended. Returns what watches one of them: over the bound,
 * `full` is called for the connection that sends on.
 */
export function createUnfinishedBound(total = TOTAL) {
  let held = 0
  return (raw: Duplex, socket: WebSocket, full: () => void) => {
    let bytes = 0
    let counted = 0
    const count = (cost: number) => {
      held += cost - counted
      counted = cost
    }
    const ended = (length: number, header: number, slack: number) => {
      bytes -= length + header
      if (bytes > slack) return
      bytes = 0
      count(0)
    }
    // Before `ws` reads it: that may end the message.
    raw.prependListener('data', (chunk: Buffer) => {
      bytes += chunk.length
      count(counted + chunk.length + READ + (counted === 0 ? FRAGMENTS * FRAGMENT : 0))
      if (held > total && held > counted) full()
    })
    // A message may have had one header or a thousand; what a control frame is, is known exactly.
    socket.on('message', (data) => ended(lengthOf(data), HEADER, FRAGMENTS * HEADER))
    for (const event of ['ping', 'pong'] as const) {
      socket.on(event, (data: Buffer) => ended(data.length, SHORT_HEADER, 0))
    }
    socket.once('close', () => count(0))
  }
}

function lengthOf(data: RawData): number {
  return Array.isArray(data) ? data.reduce((sum, part) => sum + part.length, 0) : data.byteLength
}
