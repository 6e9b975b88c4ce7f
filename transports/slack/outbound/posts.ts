import { createHash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { z } from 'zod'
import type { KeyValues } from '../../../src/core/store.ts'
import type { Artifacts, Reply } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { slackFailure } from '../api.ts'
import type { Target } from '../conversation.ts'
import type { Workspace } from '../workspaces.ts'
import { marked } from './calls.ts'
import type { Extras, Post } from './extras.ts'

/** Slack's ways to say that a post is not there any more, or cannot be changed any more. */
const GONE = /^(message_not_found|cant_update_message|edit_window_closed)$/

const sentSchema = z.object({
  /** The channel that Slack says it went to: for a user's id, their direct messages. */
  channel: z.string().exactOptional(),
  /** The conversation of a reply that `update` may replace, there alone. The question of an approval has none. */
  conversation: z.string().exactOptional(),
  /** The thread that it went to, where it went to one. */
  thread: z.string().exactOptional(),
  /** The timestamps of the posts. */
  posted: z.array(z.string()),
  /** The ids of files that were shared. */
  files: z.array(z.string()).exactOptional(),
  /** The id of the modal that was opened. */
  view: z.string().exactOptional(),
  /** Who alone saw it: then `posted` holds no posts that could be changed. */
  seenBy: z.string().exactOptional(),
  /** A daemon of an earlier version noted also what was not sent whole. */
  done: z.boolean(),
})

/** What was sent. */
export type Sent = z.infer<typeof sentSchema>

/** One send under way. */
export type Sending = {
  reply: Reply
  extras: Extras
  posts: Post[]
  workspace: Workspace
  target: Target
  sent: Sent
}

/** A little longer than the outbox knows a key. */
const KEPT = 8 * 86_400_000

/** Remembers on the store, per key, what was sent, so that no daemon sends it again, and another reply may replace it. */
export function createSentLog(kv: KeyValues, gateway: string) {
  const nameOf = (key: string) => `slack/${gateway}/sent/${createHash('sha256').update(key).digest('hex')}`
  return {
    async read(key: string): Promise<Sent | undefined> {
      const entry = await kv.get(nameOf(key))
      return entry && sentSchema.parse(entry.value)
    },
    async write(key: string, sent: Sent): Promise<void> {
      await kv.set(nameOf(key), sent, { ttl: KEPT })
    },
  }
}

type Place = Pick<Target, 'channel' | 'thread'>
export type Posted = { channel: string; ts: string }

/** Posts once. `mark`: the key by which it can be looked for, where it is not of a run, which marks its own. */
export async function post(
  { api }: Workspace,
  { channel, thread }: Place,
  shown: Post,
  mark?: { key: string; part: number },
): Promise<Posted> {
  const answer = await api.chat.postMessage({
    ...{ channel, ...shown, ...defined({ thread_ts: thread }) },
    ...(mark ? { metadata: marked(mark) } : {}),
  })
  return { channel: answer.channel ?? channel, ts: answer.ts ?? '' }
}

/**
 * Shows the posts of a reply that were not shown yet: in the `earlier` ones that it takes over, while they are there, then in
 * posts of its own. From an earlier one on that somebody deleted, they are posted anew, to stay in order.
 */
export async function postAll(
  { posts, workspace, sent }: Sending,
  place: Place,
  earlier: readonly string[] = [],
): Promise<void> {
  let left = earlier
  for (const shown of posts.slice(sent.posted.length)) {
    const ts = left[sent.posted.length]
    const changed = ts !== undefined && (await changePost(workspace, { ...place, ts }, shown))
    if (!changed) left = []
    const done = changed ? { channel: place.channel, ts } : await post(workspace, place, shown)
    sent.channel = done.channel
    sent.posted.push(done.ts)
  }
}

/** False: it is not there any more. */
async function changePost({ api }: Workspace, { channel, ts }: Posted, shown: Post): Promise<boolean> {
  try {
    await api.chat.update({ channel, ts, ...shown })
    return true
  } catch (error) {
    if (!GONE.test(slackFailure(error).code)) throw error
    return false
  }
}

/** Takes away those posts of a longer one that this reply did not take over. */
export async function deleteLeft({ workspace, sent }: Sending, channel: string, earlier: readonly string[]) {
  for (const ts of earlier.filter((each) => !sent.posted.includes(each))) {
    try {
      await workspace.api.chat.delete({ channel, ts })
    } catch (error) {
      // Somebody may have deleted it, or nobody may.
      if (slackFailure(error).kind !== 'rejected') throw error
    }
  }
}

/** Uploads the files of a reply and shares them in one post (https://docs.slack.dev/messaging/working-with-files). */
export async function shareFiles(
  { reply, workspace, sent }: Sending,
  { channel, thread }: Place,
  artifacts: Artifacts,
): Promise<void> {
  const read = async ({ name, sha256 }: { name: string; sha256: string }) => {
    return { filename: name, file: await buffer(await artifacts.open(sha256)) }
  }
  const file_uploads = await Promise.all((reply.attachments ?? []).map(read))
  if (file_uploads.length === 0) return
  const place = { channel_id: channel, ...defined({ thread_ts: thread }) }
  const shared = await workspace.api.filesUploadV2({ ...place, file_uploads })
  sent.files = shared.files.flatMap(({ files = [] }) => files.flatMap(({ id = [] }) => id))
}
