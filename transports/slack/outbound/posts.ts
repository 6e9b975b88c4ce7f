import { blob } from 'node:stream/consumers'
import { TriviumError } from '../../../src/core/errors.ts'
import type { Artifacts } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import type { Target } from '../conversation.ts'
import { slackFailure } from '../failure.ts'
import { objectAt, objectsAt, textAt } from '../fields.ts'
import { readHistory } from '../history.ts'
import type { Workspace } from '../workspaces.ts'
import type { Post } from './extras.ts'
import type { Sending, Sent, SentLog } from './sent-log.ts'

/** The type under which our posts carry their key, so that they can be found again. */
const METADATA_TYPE = 'trivium_reply'
/** How much of a thread or channel is read in search of one reply. */
const MAX_READ = 1000
/** Slack's ways to say that a post is not there any more, or cannot be changed any more. */
const GONE = /^(message_not_found|cant_update_message|edit_window_closed)$/

/** Where something is posted. */
type Place = Pick<Target, 'channel' | 'thread'>
/** One post of ours: where Slack put it. */
export type Posted = { channel: string; ts: string }

/** Posts once. It is not retried: the post carries its key, so that one whose outcome is unknown can be looked for. */
export async function post(
  { api }: Workspace,
  { channel, thread }: Place,
  shown: Post,
  mark: { key: string; part: number },
): Promise<Posted> {
  api.pace(channel, mark.key)
  const answer = await api.call(`chat.postMessage/${channel}`, (web) =>
    web.chat.postMessage({
      ...{ channel, ...shown, ...defined({ thread_ts: thread }) },
      metadata: { event_type: METADATA_TYPE, event_payload: mark },
    }),
  )
  return { channel: answer.channel ?? channel, ts: answer.ts ?? '' }
}

/** Posts what was not posted yet. */
export async function postAll({ reply, posts, workspace, sent, save }: Sending, place: Place): Promise<void> {
  for (const [part, shown] of posts.entries()) {
    if (part < sent.posted.length) continue
    const { channel, ts } = await post(workspace, place, shown, { key: reply.key, part })
    sent.channel = channel
    sent.posted.push(ts)
    await save()
  }
}

/** Notes that a reply takes over posts that are there, before any is changed. */
export async function takeOver(
  { posts, sent, save }: Sending,
  { posted, channel }: Pick<Sent, 'posted' | 'channel'>,
  key?: string,
) {
  sent.posted = posted.slice(0, posts.length)
  sent.replaces = defined({ posts: sent.posted.length, key })
  if (channel !== undefined) sent.channel = channel
  await save()
}

/**
 * Puts a reply into the posts that it took over, and posts what is left over, as posts of its own. From a post on that
 * somebody deleted, it is posted anew. Doing it twice changes nothing, once the posts of its own were looked for.
 */
export async function replaceAll(sending: Sending, log: SentLog): Promise<void> {
  const { posts, workspace, target, sent, save } = sending
  const { replaces } = sent
  if (!replaces) return
  const place = { ...target, channel: sent.channel ?? target.channel }
  // Posts of its own come after all the others were changed.
  const isShown = sent.posted.length > replaces.posts
  for (const [part, shown] of posts.slice(0, isShown ? 0 : replaces.posts).entries()) {
    const ts = sent.posted[part] ?? ''
    try {
      const { channel } = place
      await workspace.api.call('chat.update', (web) => web.chat.update({ channel, ts, ...shown }))
    } catch (error) {
      if (!GONE.test(slackFailure(error).code)) throw error
      sent.replaces = { ...replaces, posts: part }
      sent.posted.length = part
      await save()
      break
    }
  }
  await postAll(sending, place)
  if (replaces.key !== undefined) await handOver(replaces.key, sending, place.channel, log)
}

/** Takes away the posts that are left of a longer one; the next that replaces it finds the posts as they are now. */
async function handOver(key: string, { workspace, sent }: Sending, channel: string, log: SentLog) {
  const earlier = await log.read(key)
  for (const ts of earlier.posted.filter((each) => !sent.posted.includes(each))) {
    try {
      await workspace.api.call('chat.delete', (web) => web.chat.delete({ channel, ts }))
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
    const slot = await api.call('files.getUploadURLExternal', (web) =>
      web.files.getUploadURLExternal({ filename: name, length: size }),
    )
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
  await api.call('files.completeUploadExternal', (web) =>
    web.files.completeUploadExternal({
      files: [first, ...rest],
      channel_id: channel,
      ...defined({ thread_ts: thread }),
    }),
  )
}
