import { hash } from 'node:crypto'
import { z } from 'zod'
import type { KeyValues } from '../../src/core/store.ts'

/** What a Message-ID of ours looks like; the mark is the only part that counts. */
const OWN = /\btrivium\.([0-9a-f]{40})\b/gi

/** The mark of a send, the same on every daemon. A copy, reply or bounce has it: by Message-ID or envelope id (RFC 3461). */
export function markOf(gateway: string, key: string): string {
  return hash('sha256', `${gateway}\n${key}`).slice(0, 40)
}

/** The Message-ID of a send, with angle brackets. */
export function messageIdOf(mark: string, address: string): string {
  return `<trivium.${mark}@${address.slice(address.lastIndexOf('@') + 1)}>`
}

/** The marks of ours in any text, each once, at most 20. */
export function marksIn(text: string): string[] {
  const marks = [...text.matchAll(OWN)].map(([, mark = '']) => mark.toLowerCase())
  return [...new Set(marks)].slice(0, 20)
}

const recordSchema = z.object({
  /** `sending`: handed over whole, and nobody has said how it ended. `refused`: it was not taken. */
  state: z.enum(['sending', 'sent', 'refused']),
  key: z.string(),
  at: z.number(),
  to: z.string(),
  conversation: z.string(),
  /** Where the thread began, where that is elsewhere. */
  thread: z.string().exactOptional(),
  /** The message it answered. */
  inReplyTo: z.string().exactOptional(),
  /** What became of each recipient, where there are several: `sent`, or why not. Who is not named waits. */
  recipients: z.record(z.string(), z.string()).exactOptional(),
  /** The fingerprint of its text, by which words of others are found in a quote of it. */
  said: z.string().exactOptional(),
  /** What the SMTP server said. */
  response: z.string().exactOptional(),
})

/** What is remembered of a send, under its mark, so that any daemon recognises what comes back. */
export type SentRecord = z.output<typeof recordSchema>

export type SentLog = ReturnType<typeof createSentLog>

/** Bounces come within days (RFC 5321, section 4.5.4.1, gives up after 4 to 5), replies within weeks. */
const KEEP = 60 * 86_400_000

/**
 * The memory of what a gateway sent, on the store. `isRenamed`: what takes its mail gives that Message-IDs of its own, which
 * are looked up then.
 */
export function createSentLog(kv: KeyValues, gateway: string, isRenamed = false) {
  const keyOf = (mark: string) => `email/${gateway}/sent/${mark}`
  const get = async (mark: string) => recordSchema.safeParse((await kv.get(keyOf(mark)))?.value).data
  const set = (mark: string, record: SentRecord) => kv.set(keyOf(mark), { ...record }, { ttl: KEEP })
  const aliasOf = (messageId: string) =>
    `email/${gateway}/alias/${hash('sha256', messageId.toLowerCase(), 'base64url').slice(0, 22)}`
  /** The send of which something came back: so it was sent, whatever was known of it before. */
  const arrived = async (mark: string): Promise<SentRecord | undefined> => {
    const record = await get(mark)
    if (record && record.state !== 'sent') await set(mark, { ...record, state: 'sent' })
    return record
  }
  return {
    get,
    set,
    arrived,
    /** The send whose Message-ID a mail has or names that came in. */
    async of(messageId: string): Promise<SentRecord | undefined> {
      const [mark] = marksIn(messageId)
      if (mark !== undefined) return arrived(mark)
      const alias = isRenamed && messageId !== '' ? (await kv.get(aliasOf(messageId)))?.value : undefined
      return typeof alias === 'string' ? arrived(alias) : undefined
    },
    /** The mail of this mark went out under another Message-ID. */
    setAlias: (messageId: string, mark: string) => kv.set(aliasOf(messageId), mark, { ttl: KEEP }),
  }
}
