import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Json } from '../../src/core/json.ts'
import type { KeyValues } from '../../src/core/store.ts'
import { withUnknownFields } from '../../src/core/stored-entries.ts'
import { DAY } from '../../src/core/units.ts'

/** The mark in one of our Message-IDs or envelope ids. */
const MARK = /\btrivium\.([0-9a-f]{40})\b/gi

/**
 * The mark of a send, the same on every daemon. Copies, replies and bounces contain it, in the
 * Message-ID or the envelope id (RFC 3461).
 */
export function markOf(gateway: string, key: string): string {
  return hash('sha256', `${gateway}\n${key}`).slice(0, 40)
}

/** The Message-ID of a send, with angle brackets. */
export function messageIdOf(mark: string, address: string): string {
  return `<trivium.${mark}@${address.slice(address.lastIndexOf('@') + 1)}>`
}

const MAX_MARKS = 20

/** Our marks in any text, each once, at most 20. */
export function marksIn(text: string): string[] {
  const marks = [...text.matchAll(MARK)].map(([, mark = '']) => mark.toLowerCase())
  return [...new Set(marks)].slice(0, MAX_MARKS)
}

const recordSchema = z.object({
  /** `sending`: sent completely, but without a response yet. `refused`: not accepted. */
  state: z.enum(['sending', 'sent', 'refused']),
  /** The key of the outbox job. */
  key: z.string(),
  /** The date of the mail (Unix ms). */
  at: z.number(),
  /** The first recipient. */
  to: z.string(),
  conversation: z.string(),
  /** The thread for the reply budget, if it is not the conversation. */
  thread: z.string().exactOptional(),
  /** The message it answered. */
  inReplyTo: z.string().exactOptional(),
  /**
   * With several recipients, the outcome of each: `sent`, or the reason. Recipients without an
   * entry are still waiting.
   */
  recipients: z.record(z.string(), z.string()).exactOptional(),
  /**
   * The fingerprint of the mail's text: in a quote of the mail, it shows which words others wrote.
   * The name is that of older versions.
   */
  said: z.string().exactOptional(),
  /** The response of the SMTP server. */
  response: z.string().exactOptional(),
})

/** The record of a send, by its mark, so that any daemon recognises replies and bounces. */
export type SentRecord = z.output<typeof recordSchema>

export type SentLog = ReturnType<typeof createSentLog>

/**
 * Bounces come within days (RFC 5321, section 4.5.4.1: servers give up after 4 to 5), replies
 * within weeks.
 */
const RECORD_TTL_MS = 60 * DAY

/**
 * The sent mails of a gateway, in the store. `replacesMessageId`: the provider replaces
 * Message-IDs, so mails are also found by the new ones.
 */
export function createSentLog(kv: KeyValues, gateway: string, replacesMessageId = false) {
  const keyOf = (mark: string) => `email/${gateway}/sent/${mark}`
  const read = async (mark: string) => {
    const value = (await kv.get(keyOf(mark)))?.value
    return { value, record: recordSchema.safeParse(value).data }
  }
  const store = (mark: string, record: Json) => kv.set(keyOf(mark), record, { ttl: RECORD_TTL_MS })
  const aliasOf = (messageId: string) =>
    `email/${gateway}/alias/${hash('sha256', messageId.toLowerCase(), 'base64url').slice(0, 22)}`
  /**
   * Returns the record of a mail. Called when a reply to it, a copy or a bounce arrived: this
   * proves that the mail was sent. With a list of `recipients` it proves nothing, because some of
   * them may still be waiting.
   */
  const confirm = async (mark: string): Promise<SentRecord | undefined> => {
    const { value, record } = await read(mark)
    const isProven = record !== undefined && record.recipients === undefined
    if (isProven && record.state !== 'sent')
      await store(mark, withUnknownFields({ ...record, state: 'sent' }, value, record))
    return record
  }
  return {
    get: async (mark: string) => (await read(mark)).record,
    set: (mark: string, record: SentRecord) => store(mark, { ...record }),
    confirm,
    /** Like `confirm`, but by a Message-ID that an incoming mail has or refers to. */
    async byMessageId(messageId: string): Promise<SentRecord | undefined> {
      const [mark] = marksIn(messageId)
      if (mark !== undefined) return confirm(mark)
      const alias =
        replacesMessageId && messageId !== '' ? (await kv.get(aliasOf(messageId)))?.value : undefined
      return typeof alias === 'string' ? confirm(alias) : undefined
    },
    /** Records the Message-ID that the provider gave to a mail. */
    setAlias: (messageId: string, mark: string) => kv.set(aliasOf(messageId), mark, { ttl: RECORD_TTL_MS }),
  }
}
