import { TriviumError } from '../core/errors.ts'
import type { PublicHttp } from '../core/transport.ts'

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
      const pieces: Buffer[] = []
      let size = 0
      let counted = 0
      const release = () => {
        held -= counted
        counted = 0
      }
      const refuse = (error: TriviumError) => {
        request.off('data', collect)
        request.off('end', finish)
        release()
        reject(error)
      }
      const collect = (piece: Buffer) => {
        size += piece.length
        if (size > limit) return refuse(tooLarge(limit, gateway))
        if (pieces.push(piece) === 2) request.once('close', release)
        if (pieces.length === 1) return
        const more = Math.max(0, size + pieces.length * PIECE - UNCOUNTED) - counted
        if (held > counted && held + more > total) return refuse(new TriviumError('overloaded', FULL))
        held += more
        counted += more
      }
      const finish = () => {
        release()
        const [only] = pieces
        resolve(pieces.length === 1 && only ? only : Buffer.concat(pieces, size))
      }
      if (Number(request.headers['content-length'] ?? 0) > limit) return reject(tooLarge(limit, gateway))
      request.on('data', collect)
      request.on('end', finish)
    })
}

function tooLarge(limit: number, gateway: string): TriviumError {
  return new TriviumError('body_too_large', { limit, gateway })
}
