import type { IncomingMessage, ServerResponse } from 'node:http'
import { isIP } from 'node:net'

/** Answers with JSON text, beside the headers that are set already. */
export function answerJson(response: ServerResponse, status: number, json: string): void {
  const length = String(Buffer.byteLength(json))
  response.writeHead(status, ['Content-Type', 'application/json', 'Content-Length', length])
  response.end(json)
}

/** Whether an address is of this machine alone. */
export function isLoopback(address: string): boolean {
  return address === 'localhost' || address === '::1' || address.replace('::ffff:', '').startsWith('127.')
}

/**
 * Whether a name, as in the header `Host`, is one that no stranger can point at this machine (DNS rebinding): an address,
 * localhost or any name without a dot, with a port or without. No name at all is no browser.
 */
export function isLocalName(host: string | undefined): boolean {
  const name = host?.replace(/^(\[.*\]|[^:]*):\d*$/, '$1').replace(/^\[|\]$/g, '')
  return !name?.includes('.') || /\.localhost$/i.test(name) || isIP(name) !== 0
}

/** What is held of unfinished bodies in all, over this many bytes each: what most senders need no more than. */
const TOTAL = 64 * 1024 * 1024
const UNCOUNTED = 16 * 1024

/**
 * Collects the body of a request and calls `done` once: with the bytes, with `too-large` as soon as there are more than
 * `limit`, or with `too-many` while the unfinished bodies of all senders take up what there is for them. A request that
 * breaks off calls nothing.
 */
export type BodyReader = (
  request: IncomingMessage,
  limit: number,
  done: (body: Buffer | 'too-large' | 'too-many') => void,
) => void

/** Makes the reader for all listeners of a daemon. One body alone may be as large as its limit. */
export function createBodyReader(total = TOTAL): BodyReader {
  let held = 0
  return (request, limit, done) => {
    let body: Buffer = EMPTY
    let size = 0
    let counted = 0
    const end = (result: Buffer | 'too-large' | 'too-many') => {
      request.off('data', collect)
      request.off('end', finish)
      release()
      done(result)
    }
    const release = () => {
      held -= counted
      counted = 0
      body = EMPTY
    }
    const collect = (chunk: Buffer) => {
      const length = size + chunk.length
      if (length > limit) return end('too-large')
      // A list of pieces would cost a hundred bytes for each byte that a hostile sender sends alone.
      const capacity = length <= body.length ? body.length : size === 0 ? length : Math.min(length * 2, limit)
      const more = Math.max(0, capacity - UNCOUNTED) - counted
      if (more > 0 && held > 0 && held + more > total) return end('too-many')
      if (more > 0 && counted === 0) request.once('close', release)
      held += more
      counted += more
      if (size === 0) body = chunk
      else {
        if (capacity > body.length) body = grown(body, size, capacity)
        chunk.copy(body, size)
      }
      size = length
    }
    const finish = () => end(size === body.length ? body : body.subarray(0, size))
    if (Number(request.headers['content-length'] ?? 0) > limit) return done('too-large')
    request.on('data', collect)
    request.on('end', finish)
  }
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
