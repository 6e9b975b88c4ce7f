import { TriviumError } from '../core/errors.ts'
import type { PublicHttp } from '../core/transport.ts'
import { WholeRequest } from './whole-request.ts'

/** Maximum total bytes of unfinished bodies. A quarter is reserved for small bodies, which are the most common. */
const TOTAL = 64 * 1024 * 1024
const SMALL = 16 * 1024
/** Initial buffer, in bytes, for a body that arrives in several pieces. */
const LEAST = 1024
const FULL = { what: 'The listener', limit: 'unfinished bodies', seconds: 1 }

/** Makes the body reader for all gateways. A single body may reach its own limit, regardless of `total`. */
export function createBodyReader(total = TOTAL): PublicHttp['readBody'] {
  let held = 0
  return (request, limit, gateway) =>
    new Promise((resolve, reject) => {
      if (!(request instanceof WholeRequest)) return reject(new TypeError('not a request of this listener'))
      const announced = Number(request.headers['content-length'] ?? -1)
      if (announced > limit) return reject(new TriviumError('body_too_large', { limit, gateway }))
      // Pieces are copied on arrival: with 1-byte pieces, each would keep its whole read buffer alive.
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
