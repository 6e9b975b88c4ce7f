import { promisify } from 'node:util'
import { brotliDecompress, inflateRaw, unzip, zstdDecompress } from 'node:zlib'
import { TriviumError } from '../../src/core/errors.ts'

/** Maximum total bytes of bodies that are being unpacked or written, or wait for that. */
const TOTAL = 64 * 1024 * 1024
const FULL = { what: 'The gateway', limit: 'compressed bodies and files', seconds: 1 }

/** Whether a `Content-Encoding` says that a body is compressed. Some clients write its charset there. */
export function isPacked(encoding: string | undefined): boolean {
  return encoding !== undefined && !/^\s*(?:identity|none|utf-?8)?\s*$/i.test(encoding)
}

/** Makes a function that decompresses bodies, up to `limit` bytes each. */
export function createUnpack(gateway: string, limit: number) {
  /** Resolves with the decompressed body. Throws `body_too_large`, `bad_request`. */
  return async (encoding: string, raw: Buffer): Promise<Buffer> => {
    if (!isPacked(encoding)) return raw
    const unpack = METHODS.get(encoding.trim().toLowerCase())
    if (!unpack) {
      const reason = 'its Content-Encoding is none of gzip, deflate, br and zstd'
      throw new TriviumError('bad_request', { reason })
    }
    try {
      return await unpack(raw, { maxOutputLength: limit })
    } catch (cause) {
      if (cause instanceof RangeError) throw new TriviumError('body_too_large', { limit, gateway }, { cause })
      throw new TriviumError('bad_request', { reason: `its body is not valid ${encoding}` }, { cause })
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

type Unpack = (raw: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>

/** Detects gzip and zlib by their header. */
const unzipped: Unpack = promisify(unzip)
const inflated: Unpack = promisify(inflateRaw)

/** Some clients send `deflate` without the header of zlib, against RFC 9110. */
const deflate: Unpack = (raw, options) => {
  const isZlib = ((raw[0] ?? 0) & 15) === 8 && (((raw[0] ?? 0) << 8) | (raw[1] ?? 0)) % 31 === 0
  return isZlib || raw[0] === 0x1f ? unzipped(raw, options) : inflated(raw, options)
}

const METHODS = new Map<string, Unpack>([
  ['gzip', unzipped],
  ['x-gzip', unzipped],
  ['deflate', deflate],
  ['br', promisify(brotliDecompress)],
  ['zstd', promisify(zstdDecompress)],
])
