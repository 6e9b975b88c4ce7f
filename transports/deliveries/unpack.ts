import { promisify } from 'node:util'
import { unzip } from 'node:zlib'
import { TriviumError } from '../../src/core/errors.ts'

/** Maximum total bytes of bodies that are being unpacked or written, or wait for that. */
const TOTAL = 64 * 1024 * 1024
const FULL = { what: 'The gateway', limit: 'packed bodies and files', seconds: 1 }

/** Makes a function that decompresses bodies, up to `limit` bytes each. */
export function createUnpack(gateway: string, limit: number) {
  /** Resolves with the decompressed body. Throws `body_too_large`, `bad_request`. */
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
 * Limits the memory for processing bodies after they were read: a small compressed one may become
 * `limit` bytes. At most half of the total is being processed. Waiting bodies count too; above the
 * total they are refused with `overloaded`.
 */
export function createWorkroom(limit: number, total = TOTAL) {
  // Decompression holds the pieces and the result.
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

/** Detects gzip and deflate by the header. */
const unpack = promisify(unzip)
