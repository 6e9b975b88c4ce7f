import type { IncomingMessage } from 'node:http'

/**
 * Collects the body of a request and calls `done` once: with the bytes, or with `too-large` as soon as there are more
 * than `limit`. Holds at most `limit` bytes twice, however small the pieces. A request that breaks off calls nothing.
 */
export function readBody(
  request: IncomingMessage,
  limit: number,
  done: (body: Buffer | 'too-large') => void,
): void {
  if (Number(request.headers['content-length'] ?? 0) > limit) {
    discardBody(request)
    done('too-large')
    return
  }
  let body: Buffer = EMPTY
  let size = 0
  const collect = (chunk: Buffer) => {
    const end = size + chunk.length
    if (end > limit) {
      request.off('data', collect)
      request.off('end', finish)
      body = EMPTY
      discardBody(request)
      return done('too-large')
    }
    if (size === 0) body = chunk
    else {
      // A list of pieces would cost a hundred bytes for each byte that a hostile sender sends alone.
      if (end > body.length) body = grown(body, size, end * 2)
      chunk.copy(body, size)
    }
    size = end
  }
  const finish = () => done(size === body.length ? body : body.subarray(0, size))
  request.on('data', collect)
  request.on('end', finish)
}

const EMPTY = Buffer.alloc(0)

function grown(body: Buffer, size: number, capacity: number): Buffer {
  const larger = Buffer.allocUnsafe(capacity)
  body.copy(larger, 0, 0, size)
  return larger
}

/** Enough that a sender in the middle of its body gets to read the answer. */
const DISCARD_BYTES = 16 * 1024 * 1024

/** Reads what is left of a refused request and throws it away; hangs up where that is too much. */
export function discardBody(request: IncomingMessage): void {
  let size = 0
  request.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > DISCARD_BYTES) request.destroy()
  })
}
