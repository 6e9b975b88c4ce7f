import { TriviumError, toTriviumError } from '../core/errors.ts'
import type { PublicHttp } from '../core/transport.ts'
import { WholeRequest } from './whole-request.ts'

/** Maximum total bytes of unfinished bodies. A quarter is reserved for small bodies. */
const MAX_TOTAL = 64 * 1024 * 1024
/** Maximum bytes of a small body. Most bodies are small. */
const MAX_SMALL = 16 * 1024
/** Initial buffer, in bytes, for a body that arrives in several pieces. */
const INITIAL_BYTES = 1024
const OVERLOADED = { what: 'The listener', limit: 'unfinished bodies', seconds: 1 }

/**
 * Makes the body readers for all gateways. A single body may reach its own limit, regardless of
 * `total`.
 */
export function createBodyReader(total = MAX_TOTAL): Pick<PublicHttp, 'readBody' | 'takeBody'> {
  const memory: Memory = { held: 0, total }

  const takeBody: PublicHttp['takeBody'] = (request, { limit, gateway }, take, failed) => {
    const refuse = (error: unknown) => queueMicrotask(() => failed(toTriviumError(error)))
    if (!(request instanceof WholeRequest)) return refuse(new TypeError('not a request of this listener'))
    const announced = Number(request.headers['content-length'] ?? -1)
    if (announced > limit) return refuse(new TriviumError('body_too_large', { limit, gateway }))
    let whole: Buffer = EMPTY
    let pieces: Pieces | undefined
    request.takeBody((piece) => {
      if (piece === null) {
        request.takeBody(undefined)
        return take(pieces ? pieces.end() : whole)
      }
      // Most bodies come in one piece, and need nothing more.
      if (piece.length === announced) {
        whole = piece
        return
      }
      pieces ??= gatherPieces(request, memory, limit)
      const refusal = pieces.add(piece)
      if (refusal === undefined) return
      request.takeBody(undefined)
      pieces.end()
      refuse(new TriviumError(refusal, refusal === 'overloaded' ? OVERLOADED : { limit, gateway }))
    })
  }

  return {
    takeBody,
    readBody: (request, limit, gateway) =>
      new Promise((resolve, reject) => takeBody(request, { limit, gateway }, resolve, reject)),
  }
}

const EMPTY = Buffer.alloc(0)

/** Bytes of unfinished bodies in memory, and their maximum. */
type Memory = { held: number; total: number }

type Pieces = ReturnType<typeof gatherPieces>

/**
 * Copies the pieces of a body on arrival: with 1-byte pieces, each would keep its whole read buffer
 * alive.
 */
function gatherPieces(request: WholeRequest, memory: Memory, limit: number) {
  let buffer: Buffer = EMPTY
  let size = 0
  const release = () => {
    request.takeBody(undefined)
    memory.held -= buffer.length
    buffer = EMPTY
  }
  request.once('close', release)

  const grow = (needed: number) => {
    const wanted = Math.min(Math.max(needed * 2, INITIAL_BYTES), Math.max(limit, INITIAL_BYTES))
    const available = wanted > MAX_SMALL ? memory.total * 0.75 : memory.total
    const heldByOthers = memory.held - buffer.length
    if (heldByOthers > 0 && heldByOthers + wanted > available) return false
    const larger = Buffer.allocUnsafeSlow(wanted)
    buffer.copy(larger, 0, 0, size)
    memory.held += wanted - buffer.length
    buffer = larger
    return true
  }

  return {
    /** Returns the code of the error if there is no room for it. */
    add(piece: Buffer): 'body_too_large' | 'overloaded' | undefined {
      const needed = size + piece.length
      if (needed > limit) return 'body_too_large'
      if (needed > buffer.length && !grow(needed)) return 'overloaded'
      piece.copy(buffer, size)
      size = needed
      return undefined
    },
    /** The whole body. Its memory no longer counts. */
    end(): Buffer {
      const whole = buffer.subarray(0, size)
      release()
      return whole
    },
  }
}
