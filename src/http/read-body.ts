import { TriviumError } from '../core/errors.ts'
import type { PublicHttp } from '../core/transport.ts'
import { WholeRequest } from './whole-request.ts'

/** The most bytes of unfinished bodies in all. A quarter is kept for small ones: what most senders need no more than. */
const TOTAL = 64 * 1024 * 1024
const SMALL = 16 * 1024
/** The first room that is made, and counted, for a body that does not come in one piece. */
const LEAST = 1024
const FULL = { what: 'The listener', limit: 'unfinished bodies', seconds: 1 }

/** Makes the reader of bodies for all gateways. One body alone may be as large as its limit, whatever `total` is. */
export function createBodyReader(total = TOTAL): PublicHttp['readBody'] {
  let held = 0
  return (request, limit, gateway) =>
    new Promise((resolve, reject) => {
      if (!(request instanceof WholeRequest)) return reject(new TypeError('not a request of this listener'))
      const announced = Number(request.headers['content-length'] ?? -1)
      if (announced > limit) return reject(new TriviumError('body_too_large', { limit, gateway }))
      // Pieces are copied as they come: a hostile sender sends bytes alone, and each piece would keep what it was read with.
      let room: Buffer = EMPTY
      let size = 0
      let only: Buffer | undefined
      const end = () => {
        request.takeBody(undefined)
        held -= room.length
        room = EMPTY
      }
      const fail = (error: TriviumError) => {
        end()
        reject(error)
      }
      const grow = (least: number) => {
        if (room === EMPTY) request.once('close', end)
        const wanted = Math.min(Math.max(least * 2, LEAST), Math.max(limit, LEAST))
        const most = wanted > SMALL ? total * 0.75 : total
        if (held > room.length && held - room.length + wanted > most) return false
        const larger = Buffer.allocUnsafeSlow(wanted)
        room.copy(larger, 0, 0, size)
        held += wanted - room.length
        room = larger
        return true
      }
      request.takeBody((piece) => {
        if (piece === null) {
          const whole = only ?? room.subarray(0, size)
          end()
          return resolve(whole)
        }
        if (piece.length === announced) {
          only = piece
          return
        }
        const needed = size + piece.length
        if (needed > limit) return fail(new TriviumError('body_too_large', { limit, gateway }))
        if (needed > room.length && !grow(needed)) return fail(new TriviumError('overloaded', FULL))
        piece.copy(room, size)
        size = needed
      })
    })
}

const EMPTY = Buffer.alloc(0)
