import { z } from 'zod'
import type { Receipt, TransportDeps } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { RECORD_TTL_MS } from './call-records.ts'
import { hashOf } from './methods.ts'

/**
 * The record of a sent reply, by its key, so that no daemon sends it again and another reply may
 * replace it.
 */
const sentSchema = z.object({
  /** The channel returned by Slack; for a user id, the direct message channel. */
  channel: z.string().exactOptional(),
  /** The conversation in which `update` may replace this reply. Absent for approval requests. */
  conversation: z.string().exactOptional(),
  /** The thread, if any. */
  thread: z.string().exactOptional(),
  /** The timestamps of the posts. */
  posted: z.array(z.string()),
  /** Ids of shared files. */
  files: z.array(z.string()).exactOptional(),
  /** Id of the opened modal. */
  view: z.string().exactOptional(),
  /** The only viewer of an ephemeral reply, whose posts cannot be changed. */
  seenBy: z.string().exactOptional(),
})

export type Sent = z.infer<typeof sentSchema>

export type SentRecords = ReturnType<typeof createSentRecords>

export function createSentRecords({ gateway, kv }: Pick<TransportDeps, 'gateway' | 'kv'>) {
  const nameOf = (key: string) => `slack/${gateway}/sent/${hashOf(key)}`

  return {
    read: async (key: string) => sentSchema.optional().parse((await kv.get(nameOf(key)))?.value),
    async keep(key: string, sent: Sent): Promise<void> {
      await kv.set(nameOf(key), sent, { ttl: RECORD_TTL_MS })
    },
  }
}

/** The receipt of a sent reply: its id is the channel with the first post, file or modal. */
export function receiptOf({ channel = '', posted, files, view }: Sent): Receipt {
  const id = `${channel}/${posted[0] ?? files?.[0] ?? view ?? ''}`
  return { id, data: defined({ channel, ts: posted, files, view }) }
}
