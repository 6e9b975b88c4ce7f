import { hash } from 'node:crypto'
import { z } from 'zod'
import type { KeyValues } from '../../src/core/store.ts'

/** Our Message-IDs. Only the mark in them is used. */
const OWN = /\btrivium\.([0-9a-f]{40})\b/gi

/** The mark of a send, the same on every daemon. Copies, replies and bounces contain it, in the Message-ID or the envelope id (RFC 3461). */
export function markOf(gateway: string, key: string): string {
  return hash('sha256', `${gateway}\n${key}`).slice(0, 40)
}

/** The Message-ID of a send, with angle brackets. */
export function messageIdOf(mark: string, address: string): string {
  return `<trivium.${mark}@${address.slice(address.lastIndexOf('@') + 1)}>`
}

/** Our marks in any text, each once, at most 20. */
export function marksIn(text: string): string[] {
  const marks = [...text.matchAll(OWN)].map(([, mark = '']) => mark.toLowerCase())
  return [...new Set(marks)].slice(0, 20)
}

const recordSchema = z.object({
  /** `sending`: handed over completely, without an answer yet. `refused`: not accepted. */
  state: z.enum(['sending', 'sent', 'refused']),
  key: z.string(),
  at: z.number(),
  to: z.string(),
  conversation: z.string(),
  /** The thread for the reply budget, if it is not the conversation. */
  thread: z.string().exactOptional(),
  /** The message it answered. */
  inReplyTo: z.string().exactOptional(),
  /** With several recipients, the outcome of each: `sent`, or the reason. Recipients without an entry are still waiting. */
  recipients: z.record(z.string(), z.string()).exactOptional(),
  /** The fingerprint of its text, to find other people's words inside a quote of it. */
  said: z.string().exactOptional(),
  /** The response of the SMTP server. */
  response: z.string().exactOptional(),
})

/** The record of a send, by its mark, so that any daemon recognises replies and bounces. */
export type SentRecord = z.output<typeof recordSchema>

export type SentLog = ReturnType<typeof createSentLog>

/** Bounces come within days (RFC 5321, section 4.5.4.1, gives up after 4 to 5), replies within weeks. */
const KEEP = 60 * 86_400_000

/**
 * The sent mails of a gateway, in the store. `isRenamed`: the provider replaces Message-IDs, so mails are also found by the
 * provider's.
 */
export function createSentLog(kv: KeyValues, gateway: string, isRenamed = false) {
  const keyOf = (mark: string) => `email/${gateway}/sent/${mark}`
  const get = async (mark: string) => recordSchema.safeParse((await kv.get(keyOf(mark)))?.value).data
  const set = (mark: string, record: SentRecord) => kv.set(keyOf(mark), { ...record }, { ttl: KEEP })
  const aliasOf = (messageId: string) =>
    `email/${gateway}/alias/${hash('sha256', messageId.toLowerCase(), 'base64url').slice(0, 22)}`
  /** The send to which a reply, copy or bounce belongs. It is thereby known to be sent. */
  const arrived = async (mark: string): Promise<SentRecord | undefined> => {
    const record = await get(mark)
    if (record && record.state !== 'sent') await set(mark, { ...record, state: 'sent' })
    return record
  }
  return {
    get,
    set,
    arrived,
    /** The send with a Message-ID that an incoming mail has or refers to. */
    async of(messageId: string): Promise<SentRecord | undefined> {
      const [mark] = marksIn(messageId)
      if (mark !== undefined) return arrived(mark)
      const alias = isRenamed && messageId !== '' ? (await kv.get(aliasOf(messageId)))?.value : undefined
      return typeof alias === 'string' ? arrived(alias) : undefined
    },
    /** Records the Message-ID that the provider gave to a mail. */
    setAlias: (messageId: string, mark: string) => kv.set(aliasOf(messageId), mark, { ttl: KEEP }),
  }
}
