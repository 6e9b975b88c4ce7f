import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { KeyValues } from '../../../src/core/store.ts'
import type { Reply } from '../../../src/core/transport.ts'
import type { Target } from '../conversation.ts'
import type { Workspace } from '../workspaces.ts'
import type { Extras, Post } from './extras.ts'

const sentSchema = z.object({
  /** The channel that Slack says it went to: for a user's id, their direct messages. */
  channel: z.string().exactOptional(),
  /** The conversation of a reply that `update` may replace, there alone. The question of an approval has none. */
  conversation: z.string().exactOptional(),
  /** The thread that it went to, where it went to one. */
  thread: z.string().exactOptional(),
  /** The timestamps of the posts. */
  posted: z.array(z.string()),
  /** The ids of files that were uploaded and maybe shared. */
  files: z.array(z.string()).exactOptional(),
  /** The id of the modal, once Slack has opened it. */
  view: z.string().exactOptional(),
  /** The posts that it takes over. `key`: of the earlier reply that they were of. */
  takesOver: z.object({ key: z.string().exactOptional(), posts: z.array(z.string()) }).exactOptional(),
  /** Who alone saw it: then `posted` holds no posts that could be changed, but those in `direct`. */
  seenBy: z.string().exactOptional(),
  /** The channel of the direct messages with them, where it went in the end. */
  direct: z.string().exactOptional(),
  /** One more was sent that cannot be looked for, and its answer did not come. */
  unconfirmed: z.literal(true).exactOptional(),
  done: z.boolean(),
})

/** How far a send has come. */
export type Sent = z.infer<typeof sentSchema>

/** One send under way. */
export type Sending = {
  reply: Reply
  extras: Extras
  posts: Post[]
  workspace: Workspace
  target: Target
  /** What was sent already; grows with every step. */
  sent: Sent
  /** Keeps `sent`; called after every step, before the next. */
  save(): Promise<void>
}

/** A little longer than the outbox knows a key. */
const KEPT = 8 * 86_400_000

export type SentLog = ReturnType<typeof createSentLog>

/** Remembers on the store, per key, what of a reply has been sent, so that no daemon sends it twice. */
export function createSentLog(kv: KeyValues, gateway: string) {
  const nameOf = (key: string) => `slack/${gateway}/sent/${createHash('sha256').update(key).digest('hex')}`
  return {
    async read(key: string): Promise<Sent> {
      const entry = await kv.get(nameOf(key))
      return entry ? sentSchema.parse(entry.value) : { posted: [], done: false }
    },
    async write(key: string, sent: Sent): Promise<void> {
      await kv.set(nameOf(key), { ...sent }, { ttl: KEPT })
    },
  }
}
