import { createHash } from 'node:crypto'
import { blob } from 'node:stream/consumers'
import { z } from 'zod'
import { TriviumError } from '../../../src/core/errors.ts'
import { objectAt, objectsAt, textAt } from '../../../src/core/json.ts'
import type { KeyValues } from '../../../src/core/store.ts'
import type { Artifacts, Reply } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { readHistory, slackFailure } from '../api.ts'
import type { Target } from '../conversation.ts'
import type { Workspace } from '../workspaces.ts'
import type { Extras, Post } from './extras.ts'

/** The type under which our posts carry their key, so that they can be found again. */
export const METADATA_TYPE = 'trivium_reply'
/** How much of a thread or channel is read in search of one reply. */
const MAX_READ = 1000
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

type Place = Pick<Target, 'channel' | 'thread'>
export type Posted = { channel: string; ts: string }

/** Posts once. It is not retried: the post carries its key, so that one whose outcome is unknown can be looked for. */
export async function post(
  { api }: Workspace,
  { channel, thread }: Place,
  shown: Post,
  mark: { key: string; part: number },
): Promise<Posted> {
  const answer = await api.chat.postMessage({
    ...{ channel, ...shown, ...defined({ thread_ts: thread }) },
    metadata: { event_type: METADATA_TYPE, event_payload: mark },
  })
  return { channel: answer.channel ?? channel, ts: answer.ts ?? '' }
}

/**
 * Shows the posts of a reply that were not shown yet: in those that it takes over, while they are there, then in posts of
 * its own. Doing it twice changes nothing, once those of its own were looked for.
 */
export async function postAll(sending: Sending, place: Place): Promise<void> {
  const { reply, posts, workspace, sent, save } = sending
  for (const [part, shown] of posts.entries()) {
    if (part < sent.posted.length) continue
    const changed = await changePost(sending, part, shown, place.channel)
    const { channel, ts } = changed ?? (await post(workspace, place, shown, { key: reply.key, part }))
    sent.channel = channel
    sent.posted.push(ts)
    await save()
  }
}

/** Undefined: there is no post to take over. From one on that somebody deleted, they are posted anew, to stay in order. */
async function changePost(
  { workspace, sent: { takesOver }, save }: Sending,
  part: number,
  shown: Post,
  channel: string,
): Promise<Posted | undefined> {
  const ts = takesOver?.posts[part]
  if (!takesOver || ts === undefined) return undefined
  try {
    await workspace.api.chat.update({ channel, ts, ...shown })
    return { channel, ts }
  } catch (error) {
    if (!GONE.test(slackFailure(error).code)) throw error
    takesOver.posts.length = part
    await save()
    return undefined
  }
}

/** Takes away the posts that are left of a longer one; the next that replaces it finds the posts as they are now. */
export async function handOver(key: string, { workspace, sent }: Sending, channel: string, log: SentLog) {
  const earlier = await log.read(key)
  for (const ts of earlier.posted.filter((each) => !sent.posted.includes(each))) {
    try {
      await workspace.api.chat.delete({ channel, ts })
    } catch (error) {
      // Somebody may have deleted it, or nobody may.
      if (slackFailure(error).kind !== 'rejected') throw error
    }
  }
  await log.write(key, { ...earlier, posted: sent.posted })
}

/**
 * Looks for what carries the key of a reply, in a thread or in the newest of a channel: its posts by part, and whether its
 * files were shared. Not `complete`: there is more than is read.
 */
export async function findPosts(
  key: string,
  { api }: Workspace,
  { channel, thread }: Place,
  files: readonly string[] = [],
) {
  const query = defined({ channel, ts: thread, limit: 200, include_all_metadata: true })
  const { messages, isCut } = await readHistory(api, query, MAX_READ)
  const posts = new Map<unknown, string>()
  for (const message of messages) {
    const mark = objectAt(message, 'metadata.event_payload')
    if (textAt(message, 'metadata.event_type') !== METADATA_TYPE || mark.key !== key) continue
    posts.set(mark.part, textAt(message, 'ts') ?? '')
  }
  const shared = messages.some((each) =>
    objectsAt(each, 'files').some(({ id }) => files.includes(String(id))),
  )
  return { posts, shared, complete: !isCut }
}

/**
 * Uploads the files of a reply and shares them in one post (https://docs.slack.dev/messaging/working-with-files).
 * Their ids are noted before they are shared, so that a share whose outcome is unknown can be looked for.
 */
export async function shareFiles(
  sending: Sending,
  { channel, thread }: Place,
  artifacts: Artifacts,
): Promise<void> {
  const { reply, workspace, sent, save } = sending
  const { api } = workspace
  const files: { id: string; title: string }[] = []
  for (const { name, size, sha256 } of reply.attachments ?? []) {
    // An upload that is not shared is seen by nobody, so it may fail and be repeated.
    const slot = await api.files.getUploadURLExternal({ filename: name, length: size })
    const response = await fetch(slot.upload_url ?? '', {
      method: 'POST',
      body: await blob(await artifacts.open(sha256)),
      signal: AbortSignal.timeout(60_000),
    })
    await response.body?.cancel()
    if (!response.ok) {
      const reason = `the upload of ${name} was answered with ${response.status}`
      throw new TriviumError('send_failed', { gateway: reply.gateway, reason })
    }
    files.push({ id: slot.file_id ?? '', title: name })
  }
  const [first, ...rest] = files
  if (!first) return
  sent.files = files.map(({ id }) => id)
  await save()
  await api.files.completeUploadExternal({
    files: [first, ...rest],
    channel_id: channel,
    ...defined({ thread_ts: thread }),
  })
}
