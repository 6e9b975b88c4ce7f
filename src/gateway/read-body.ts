import { TriviumError } from '../core/errors.ts'
import type { PublicHttp } from '../core/transport.ts'
import { WholeRequest } from './whole-request.ts'

/** What is held of unfinished bodies in all, over this many bytes each: what most senders need no more than. */
const TOTAL = 64 * 1024 * 1024
const UNCOUNTED = 16 * 1024
/** What each piece of a body costs besides its bytes: a hostile sender sends them alone. */
const PIECE = 100
const FULL = { what: 'The listener', limit: 'unfinished bodies', seconds: 1 }

/** Makes the reader of bodies for all gateways. One body alone may be as large as its limit, whatever `total` is. */
export function createBodyReader(total = TOTAL): PublicHttp['readBody'] {
  let held = 0
  return (request, limit, gateway) =>
    new Promise((resolve, reject) => {
      if (!(request instanceof WholeRequest)) return reject(new TypeError('not a request of this listener'))
      if (Number(request.headers['content-length'] ?? 0) > limit) return reject(tooLarge(limit, gateway))
      const pieces: Buffer[] = []
      let size = 0
      let counted = 0
      const end = () => {
        request.takeBody(undefined)
        held -= counted
        counted = 0
      }
      request.takeBody((piece) => {
        if (piece === null) {
          end()
          const [only] = pieces
          return resolve(pieces.length === 1 && only ? only : Buffer.concat(pieces, size))
        }
        size += piece.length
        if (pieces.push(piece) === 2) request.once('close', end)
        const more = pieces.length === 1 ? 0 : Math.max(0, size + pieces.length * PIECE - UNCOUNTED) - counted
        const isFull = more > 0 && held > counted && held + more > total
        held += more
        counted += more
        if (isFull || size > limit) {
          end()
          reject(size > limit ? tooLarge(limit, gateway) : new TriviumError('overloaded', FULL))
        }
      })
    })
}

function tooLarge(limit: number, gateway: string): TriviumError {
  return new TriviumError('body_too_large', { limit, gateway })
}
