import type { Duplex } from 'node:stream'
import type { RawData, WebSocket } from 'ws'

/** Maximum memory (bytes) for unfinished messages of all connections of a gateway. */
const MAX_BYTES = 64 * 1024 * 1024
/** Memory overhead (bytes) of a chunk read from the socket. */
const CHUNK_OVERHEAD = 512
/** Memory overhead (bytes) of a fragment of a message. */
const FRAGMENT_OVERHEAD = 128
/** Maximum number of fragments of a message. */
const MAX_FRAGMENTS = 1_024
/** Lowest limit of buffered chunks, for small values of `max-frame`. */
const MIN_BUFFERED_CHUNKS = 4_096
/** A frame of `max-frame` bytes may come in chunks of this size (bytes). */
const SMALL_CHUNK = 256

/** Limits for `ws`, so that a connection cannot use much more memory than the bytes it sends. */
export const fragmentLimits = (maxFrame: number) => ({
  maxFragments: MAX_FRAGMENTS,
  maxBufferedChunks: Math.max(MIN_BUFFERED_CHUNKS, Math.ceil(maxFrame / SMALL_CHUNK)),
})

/** The longest header (bytes) of a frame with a mask. */
const LONGEST_HEADER = 14
/** The header (bytes) of a control frame with a mask. */
const CONTROL_HEADER = 6

/**
 * Limits the memory for unfinished messages of a gateway's connections to `limit` bytes. Returns a
 * function that watches a connection; it calls `exceeded` for a connection that sends beyond the
 * limit.
 */
export function createUnfinishedLimit(limit = MAX_BYTES) {
  /** The estimated memory (bytes) of all connections. */
  let totalCost = 0
  return (raw: Duplex, socket: WebSocket, exceeded: () => void) => {
    /** The bytes received since the last complete message. */
    let received = 0
    /** The estimated memory (bytes) that they take. */
    let cost = 0
    const setCost = (next: number) => {
      totalCost += next - cost
      cost = next
    }
    /** `slack`: how many bytes may remain because the number of frame headers is unknown. */
    const complete = (length: number, header: number, slack: number) => {
      received -= length + header
      if (received > slack) return
      received = 0
      setCost(0)
    }
    // Runs before `ws` reads the chunk, which may complete the message.
    raw.prependListener('data', (chunk: Buffer) => {
      received += chunk.length
      const fragments = cost === 0 ? MAX_FRAGMENTS * FRAGMENT_OVERHEAD : 0
      setCost(cost + chunk.length + CHUNK_OVERHEAD + fragments)
      // A single connection is limited by `max-frame`.
      if (totalCost > limit && totalCost > cost) exceeded()
    })
    // A message has one to MAX_FRAGMENTS headers. A control frame has one short header.
    socket.on('message', (data) => complete(lengthOf(data), LONGEST_HEADER, MAX_FRAGMENTS * LONGEST_HEADER))
    for (const event of ['ping', 'pong'] as const) {
      socket.on(event, (data: Buffer) => complete(data.length, CONTROL_HEADER, 0))
    }
    socket.once('close', () => setCost(0))
  }
}

function lengthOf(data: RawData): number {
  return Array.isArray(data) ? data.reduce((sum, part) => sum + part.length, 0) : data.byteLength
}
