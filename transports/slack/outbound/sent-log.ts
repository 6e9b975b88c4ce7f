import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { KeyValues } from '../../../src/core/store.ts'

/** The type under which our posts carry their key, so that they can be found again. */
export const METADATA_TYPE = 'trivium_reply'

const progressSchema = z.object({
  /** The channel that Slack says it went to: for a user's id, their direct messages. */
  channel: z.string().exactOptional(),
  /**
   * The conversation of a reply that `update` may replace, there alone. What Trivium itself keeps (the question of an
   * approval, what was shown while it was written) has none, nor what an earlier version sent.
   */
  conversation: z.string().exactOptional(),
  /** The timestamps of the parts that were posted. */
  posted: z.array(z.string()),
  /** The ids of files that were uploaded and maybe shared. */
  files: z.array(z.string()).exactOptional(),
  /** For a modal: that Slack was asked to open it, and its id once it has. */
  opening: z.literal(true).exactOptional(),
  view: z.string().exactOptional(),
  /** The earlier reply whose posts this one takes over, and how many: they come first in `posted`. */
  replaces: z.object({ key: z.string(), posts: z.int() }).exactOptional(),
  /** Who alone saw it: then `posted` holds no posts that could be changed, but those in `direct`. */
  seenBy: z.string().exactOptional(),
  /** The channel of the direct messages with them, where it went in the end. */
  direct: z.string().exactOptional(),
  /** One more was sent that cannot be looked for, and its answer did not come. */
  unconfirmed: z.literal(true).exactOptional(),
  done: z.boolean(),
  /** For what was shown while it was written: the key of the reply that replaces it. */
  claimedBy: z.string().exactOptional(),
})

/** How far a send has come. */
export type Progress = z.infer<typeof progressSchema>

export type SentLog = {
  read(key: string): Promise<Progress>
  /** Undefined: nothing of it was noted, or no longer is. */
  find(key: string): Promise<Progress | undefined>
  /** `ttl` in ms; without, for as long as the reply might come again. */
  write(key: string, progress: Progress, ttl?: number): Promise<void>
  /** Notes for `ttl` ms that something may be sent under the key; changes nothing where anything is noted. */
  announce(key: string, ttl: number): Promise<void>
}

/** A little longer than the outbox knows a key. */
const KEPT = 8 * 86_400_000

/** Remembers on the store, per key, what of a reply has been sent, so that no daemon sends it twice. */
export function createSentLog(kv: KeyValues, gateway: string): SentLog {
  const nameOf = (key: string) => `slack/${gateway}/sent/${createHash('sha256').update(key).digest('hex')}`
  const find = async (key: string) => {
    const entry = await kv.get(nameOf(key))
    return entry && progressSchema.parse(entry.value)
  }
  return {
    find,
    async read(key) {
      return (await find(key)) ?? nothingYet()
    },
    async write(key, progress, ttl = KEPT) {
      await kv.set(nameOf(key), { ...progress }, { ttl })
    },
    async announce(key, ttl) {
      await kv.set(nameOf(key), nothingYet(), { ttl, ifVersion: 0 })
    },
  }
}

function nothingYet() {
  const posted: string[] = []
  return { posted, done: false }
}
