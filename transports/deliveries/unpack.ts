import { promisify } from 'node:util'
import { unzip } from 'node:zlib'
import { TriviumError } from '../../src/core/errors.ts'

/** The most bytes that bodies may take which are being unpacked, or whose files are being written, or which wait for that. */
const TOTAL = 64 * 1024 * 1024
const FULL = { what: 'The gateway', limit: 'packed bodies and files', seconds: 1 }

/** Makes the function that unpacks bodies, to `limit` bytes at most. */
export function createUnpack(gateway: string, limit: number) {
  /** The body as its sender wrote it. Throws `body_too_large`, `bad_request`. */
  return async (encoding: string, raw: Buffer): Promise<Buffer> => {
    if (encoding === 'identity') return raw
    if (encoding !== 'gzip' && encoding !== 'deflate')
      throw new TriviumError('bad_request', { reason: 'its Content-Encoding is neither gzip nor deflate' })
    try {
      return await unpack(raw, { maxOutputLength: limit })
    } catch (cause) {
      if (cause instanceof RangeError) throw new TriviumError('body_too_large', { limit, gateway }, { cause })
      throw new TriviumError('bad_request', { reason: `its body is no ${encoding}` }, { cause })
    }
  }
}

/**
 * Bounds the memory of work on bodies that goes on after they were read: a small packed one may become `limit` bytes. At most
 * half of the bound is being worked on; what waits is counted too, and refused over the bound with `overloaded`.
 */
export function createWorkroom(limit: number, total = TOTAL) {
  // Unpacking holds its pieces and the whole.
  const places = Math.max(1, Math.min(8, Math.floor(total / 4 / limit)))
  const waiting: (() => void)[] = []
  let working = 0
  let held = 0
  return async <Result>(size: number, work: () => Promise<Result>): Promise<Result> => {
    if (held > 0 && held + size > total / 2) throw new TriviumError('overloaded', FULL)
    held += size
    if (working < places) working++
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      held -= size
      const next = waiting.shift()
      if (next) next()
      else working--
    }
  }
}

/** Of either kind: it tells by the head. */
const unpack = promisify(unzip)
