import { promisify } from 'node:util'
import { brotliDecompress, inflateRaw, unzip, zstdDecompress } from 'node:zlib'
import { TriviumError } from '../../src/core/errors.ts'

/** Memory (bytes) for bodies that are being unpacked or written, or wait for that. */
const MEMORY_BYTES = 64 * 1024 * 1024
const MAX_PARALLEL = 8
const OVERLOADED = { what: 'The gateway', limit: 'compressed bodies and files', seconds: 1 }

/**
 * Whether a `Content-Encoding` says that a body is compressed. Some clients write its charset
 * there.
 */
export function isCompressed(encoding: string | undefined): boolean {
  return encoding !== undefined && !/^\s*(?:identity|none|utf-?8)?\s*$/i.test(encoding)
}

/** Creates a function that decompresses bodies, up to `limit` bytes each. */
export function createUnpack(gateway: string, limit: number) {
  /** Resolves with the decompressed body. Throws `body_too_large`, `bad_request`. */
  return async (encoding: string, raw: Buffer): Promise<Buffer> => {
    if (!isCompressed(encoding)) return raw
    const unpack = METHODS.get(encoding.trim().toLowerCase())
    if (!unpack) {
      const reason = 'its Content-Encoding is not one of gzip, deflate, br and zstd'
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
 * Limits the memory for processing bodies after they were read: a small compressed body may become
 * `limit` bytes. Half of `memory` is for bodies as they were read, including those that wait. More
 * bodies are refused with `overloaded`. The other half is for unpacked content: bodies wait until
 * theirs fits.
 */
export function createMemoryLimit(limit: number, memory = MEMORY_BYTES) {
  // While it decompresses, zlib holds the chunks as well as the result.
  const fitting = Math.floor(memory / 2 / (2 * limit))
  const maxRunning = Math.max(1, Math.min(MAX_PARALLEL, fitting))
  const waiting: (() => void)[] = []
  let running = 0
  let heldBytes = 0
  /** Runs `work` for a body of this size (bytes). */
  return async <Result>(size: number, work: () => Promise<Result>): Promise<Result> => {
    if (heldBytes > 0 && heldBytes + size > memory / 2) throw new TriviumError('overloaded', OVERLOADED)
    heldBytes += size
    if (running < maxRunning) running++
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      heldBytes -= size
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}

type Unpack = (raw: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>

/** Detects gzip and zlib by their header. */
const gunzip: Unpack = promisify(unzip)
const inflate: Unpack = promisify(inflateRaw)

/** Some clients send `deflate` without the header of zlib, against RFC 9110. */
const deflate: Unpack = (raw, options) => {
  const [first = 0, second = 0] = raw
  // RFC 1950: the lower 4 bits are the method (8 is deflate). The two bytes, read as one number,
  // are a multiple of 31.
  const isZlib = (first & 15) === 8 && ((first << 8) | second) % 31 === 0
  const isGzip = first === 0x1f
  return isZlib || isGzip ? gunzip(raw, options) : inflate(raw, options)
}

const METHODS = new Map<string, Unpack>([
  ['gzip', gunzip],
  ['x-gzip', gunzip],
  ['deflate', deflate],
  ['br', promisify(brotliDecompress)],
  ['zstd', promisify(zstdDecompress)],
])
