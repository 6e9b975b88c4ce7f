import { z } from 'zod'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { HOUR } from '../../../src/core/units.ts'
import { defined } from '../../../src/lib/defined.ts'
import { streamPostSchema } from './stream-post.ts'

/** How long streams are remembered. */
const STREAM_TTL_MS = HOUR

/** The record of a stream, for all daemons: another one may send the complete reply. */
const recordSchema = z.object({
  post: streamPostSchema.exactOptional(),
  /**
   * Until when (Unix ms) a daemon may be updating it. In the past without a post: a post may exist
   * whose answer was lost.
   */
  busyUntil: z.number().exactOptional(),
  /** Key of the reply that replaces the post. */
  claimedBy: z.string().exactOptional(),
})

export type StreamRecords = ReturnType<typeof createStreamRecords>

/** Records of streams, by the id of the message that is answered. */
export function createStreamRecords({ gateway, kv }: Pick<TransportDeps, 'gateway' | 'kv'>) {
  const nameOf = (id: string) => `slack/${gateway}/stream/${id}`

  return {
    async read(id: string) {
      const entry = await kv.get(nameOf(id))
      return entry && { ...recordSchema.parse(entry.value), version: entry.version }
    },
    /** Resolves with undefined, and stores nothing, if the record does not have the version `ifVersion`. */
    keep: (id: string, record: z.infer<typeof recordSchema>, ifVersion?: number) =>
      kv.set(nameOf(id), record, defined({ ttl: STREAM_TTL_MS, ifVersion })),
  }
}
