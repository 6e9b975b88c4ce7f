import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { TriviumError } from '../../src/core/errors.ts'
import type { KeyValues } from '../../src/core/store.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { updateKv } from '../../src/core/update-kv.ts'

/** 128 random bits, and 96 bits of the proof. */
const ISSUED = /^([\w-]{22})\.([\w-]{16})$/
const NAME = /^[\w-]{1,64}$/

/**
 * The conversation that a client asks for: an id of ours or, for a client with a token, a name of its own; a new one where
 * it asks for none. An id of ours is 128 random bits and a proof, by the key of the gateway, that we made them for this
 * subject, so it can be neither guessed nor made up, and with tokens it is of no use to anybody else. Every daemon on the
 * same store knows the ids of every other. Throws `forbidden` and `store_unavailable`.
 */
export async function conversationFor(
  { subject }: { subject?: string },
  wanted: string | null,
  { kv, gateway }: TransportDeps,
): Promise<string> {
  const key = await loadKey(kv, gateway)
  const prove = (random: string) =>
    createHmac('sha256', key)
      .update(JSON.stringify([subject ?? '', random]))
      .digest('base64url')
      .slice(0, 16)
  if (!wanted) {
    const random = randomBytes(16).toString('base64url')
    return `${random}.${prove(random)}`
  }
  const [, random, proof = ''] = ISSUED.exec(wanted) ?? []
  if (random !== undefined) {
    if (timingSafeEqual(Buffer.from(proof), Buffer.from(prove(random)))) return wanted
  } else if (subject !== undefined) {
    const own = `${gateway}:${subject}:`
    const name = wanted.startsWith(own) ? wanted.slice(own.length) : wanted
    if (NAME.test(name)) return own + name
  }
  const reason = 'it is not yours; connect without one, and resume with the id in the welcome frame'
  throw new TriviumError('forbidden', { what: 'This conversation', reason })
}

/** The key of a gateway's proofs, made by whichever daemon needs it first. */
async function loadKey(kv: KeyValues, gateway: string): Promise<Buffer> {
  const key = await updateKv(kv, `websocket:${gateway}:conversation-key`, (known) =>
    known === undefined ? { value: randomBytes(32).toString('base64') } : undefined,
  )
  return Buffer.from(String(key), 'base64')
}
