import type { Duplex } from 'node:stream'
import type { RawData, WebSocket } from 'ws'

/** Maximum memory (bytes) for unfinished messages of all connections of a gateway. */
const TOTAL = 64 * 1024 * 1024
/** Memory overhead (bytes) of a read, and maximum overhead of the fragments of one message. */
const READ = 512
const FRAGMENTS = 1_024
const FRAGMENT = 128

/** Limits for `ws`, so that a connection cannot use much more memory than the bytes it sends. */
export const fragmentLimits = (maxFrame: number) => ({
  maxFragments: FRAGMENTS,
  maxBufferedChunks: Math.max(4_096, Math.ceil(maxFrame / 256)),
})

/** Maximum and minimum size of a frame header with mask. */
const [HEADER, SHORT_HEADER] = [14, 6]

/**
 * Limits the memory for unfinished messages of a gateway's connections. Returns a function that watches a connection; `full` is called
 * for a connection that sends beyond the limit.
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
    // Before `ws` reads it, which may end the message.
    raw.prependListener('data', (chunk: Buffer) => {
      bytes += chunk.length
      count(counted + chunk.length + READ + (counted === 0 ? FRAGMENTS * FRAGMENT : 0))
      if (held > total && held > counted) full()
    })
    // A message may have had one header or a thousand; the size of control frames is known exactly.
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
