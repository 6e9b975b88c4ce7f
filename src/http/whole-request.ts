import { Readable } from 'node:stream'
import { IncomingMessage } from '../lib/node-http.ts'

/** Takes the pieces of a body as the parser delivers them; null ends the body. */
export type BodyTaker = (piece: Buffer | null) => void

/**
 * A request whose body can be taken directly from the parser. The stream in between costs ten
 * events, ticks and state changes a request, as much as reading everything else. Without a taker it
 * is the usual stream.
 */
export class WholeRequest extends IncomingMessage {
  #taker: BodyTaker | undefined
  #isTaken = false

  /** Sends the following pieces to `taker`; undefined: to the stream again. */
  takeBody(taker: BodyTaker | undefined): void {
    this.#taker = taker
  }

  override push(piece: Buffer | null, encoding?: BufferEncoding): boolean {
    const taker = this.#taker
    if (taker === undefined) return super.push(piece, encoding)
    if (piece === null) {
      this.#isTaken = true
      // node:http has nothing left to discard after the response.
      Object.assign(this, { _consuming: true })
    }
    taker(piece)
    return true
  }

  static {
    // node:http reads `readableEnded` before it releases a request. Defined here, because
    // TypeScript does not let an accessor override this property.
    const { get: isEnded } = Object.getOwnPropertyDescriptor(Readable.prototype, 'readableEnded') ?? {}
    Object.defineProperty(WholeRequest.prototype, 'readableEnded', {
      configurable: true,
      get(this: WholeRequest): boolean {
        return this.#isTaken || isEnded?.call(this) === true
      },
    })
  }
}
