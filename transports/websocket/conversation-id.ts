import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { TriviumError } from '../../src/core/errors.ts'
import type { KeyValues } from '../../src/core/store.ts'
import { updateKv } from '../../src/core/update-kv.ts'

/** 128 random bits, and 96 bits of the proof. */
const ISSUED = /^([\w-]{22})\.([\w-]{16})$/
const NAME = /^[\w-]{1,64}$/

/**
 * Makes and checks the ids of conversations. An id of ours is 128 random bits and a proof, by the key of the
 * gateway, that we made them for this subject, so it can be neither guessed nor made up, and with tokens it is of no
 * use to anybody else. Every daemon on the same store knows the ids of every other.
 */
export function createConversationIds(gateway: string, key: Buffer) {
  const prove = (random: string, subject = '') =>
    createHmac('sha256', key)
      .update(JSON.stringify([subject, random]))
      .digest('base64url')
      .slice(0, 16)

  return {
    create(subject: string | undefined): string {
      const random = randomBytes(16).toString('base64url')
      return `${random}.${prove(random, subject)}`
    },
    /**
     * The conversation that a client asks for: an id of ours or, for a client with a token, a name of its own.
     * Throws `forbidden` where it is neither.
     */
    claim(wanted: string, subject: string | undefined): string {
      const [, random, proof = ''] = ISSUED.exec(wanted) ?? []
      if (random !== undefined) {
        if (timingSafeEqual(Buffer.from(proof), Buffer.from(prove(random, subject)))) return wanted
      } else if (subject !== undefined) {
        const own = `${gateway}:${subject}:`
        const name = wanted.startsWith(own) ? wanted.slice(own.length) : wanted
        if (NAME.test(name)) return own + name
      }
      throw new TriviumError('forbidden', { what: 'This conversation', reason: REASON })
    },
  }
}

const REASON = 'it is not yours; connect without one, and resume with the id in the welcome frame'

/** The key of a gateway's proofs, made by whichever daemon needs it first. Throws `store_unavailable`. */
export async function loadKey(kv: KeyValues, gateway: string): Promise<Buffer> {
  const key = await updateKv(kv, `websocket:${gateway}:conversation-key`, (known) =>
    known === undefined ? { value: randomBytes(32).toString('base64') } : undefined,
  )
  return Buffer.from(String(key), 'base64')
}
