import { z } from 'zod'
import type { JsonObject } from '../../../src/core/json.ts'
import { withUnknownFields } from '../../../src/core/stored-entries.ts'
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
   * Until when (Unix ms) a daemon may be updating the post. If this time has passed and there is no
   * `post`, one may exist whose answer was lost.
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
      if (!entry) return undefined
      const { value, version } = entry
      const known = recordSchema.parse(value)
      return { ...known, version, unknown: Object(withUnknownFields({}, value, known)) }
    },
    /**
     * Resolves with undefined, and stores nothing, if the record does not have the given version
     * any more. `unknown`: the fields of a newer version, as read, which stay.
     */
    keep: (
      id: string,
      record: z.infer<typeof recordSchema>,
      { version: ifVersion, unknown = {} }: { version?: number; unknown?: JsonObject },
    ) => kv.set(nameOf(id), { ...unknown, ...record }, defined({ ttl: STREAM_TTL_MS, ifVersion })),
  }
}
