import { isJsonObject, type JsonObject } from '../../src/core/json.ts'
import type { KeyValues } from '../../src/core/store.ts'
import type { Bounce } from './inbound/bounce.ts'

/** What is remembered of a send, under its mark, so that any daemon recognises what comes back. */
export type SentRecord = {
  /** `sending`: begun, and nobody has said how it ended. */
  state: 'sending' | 'sent'
  key: string
  at: number
  to: string
  conversation: string
  /** The message it answered. */
  inReplyTo?: string
  /** What the SMTP server said. */
  response?: string
  /** Why it came back, where it did. */
  bounced?: JsonObject
}

export type SentLog = {
  get(mark: string): Promise<SentRecord | undefined>
  set(mark: string, record: SentRecord): Promise<void>
  /** Ties a bounce to its send; undefined where that is not ours. */
  bounced(mark: string, bounce: Bounce, now: number): Promise<SentRecord | undefined>
}

/** Bounces come within days (RFC 5321, section 4.5.4.1, gives up after 4 to 5), replies within weeks. */
const KEEP = 60 * 86_400_000

/** The memory of what a gateway sent, on the store. */
export function createSentLog(kv: KeyValues, gateway: string): SentLog {
  const keyOf = (mark: string) => `email/${gateway}/sent/${mark}`
  const get = async (mark: string) => readRecord((await kv.get(keyOf(mark)))?.value)
  const set = async (mark: string, record: SentRecord) => {
    await kv.set(keyOf(mark), { ...record }, { ttl: KEEP })
  }
  return {
    get,
    set,
    async bounced(mark, bounce, now) {
      const record = await get(mark)
      if (!record) return undefined
      const { action, status = '', recipient = '', diagnostic = '' } = bounce
      const marked = {
        ...record,
        state: 'sent' as const,
        bounced: { at: now, action, status, recipient, diagnostic },
      }
      await set(mark, marked)
      return marked
    },
  }
}

function readRecord(value: unknown): SentRecord | undefined {
  if (!isJsonObject(value)) return undefined
  const { state, key, at, to, conversation, inReplyTo, response, bounced } = value
  if (state !== 'sending' && state !== 'sent') return undefined
  return {
    state,
    key: String(key),
    at: Number(at),
    to: String(to),
    conversation: String(conversation),
    ...(typeof inReplyTo === 'string' ? { inReplyTo } : {}),
    ...(typeof response === 'string' ? { response } : {}),
    ...(isJsonObject(bounced) ? { bounced } : {}),
  }
}
