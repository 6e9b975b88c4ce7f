import type { Readable } from 'node:stream'
import { z } from 'zod'
import type { Artifacts, Reply } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { slackFailure, UPLOAD_TIMEOUT } from '../api.ts'
import type { Target } from '../conversation.ts'
import type { Workspace } from '../workspaces.ts'
import type { Extras, Post } from './extras.ts'

/** Slack's ways to say that a post is not there any more, or cannot be changed any more. */
const GONE = /^(message_not_found|cant_update_message|edit_window_closed)$/

/** What was sent: kept by its key, so that no daemon sends it again, and another reply may replace it. */
export const sentSchema = z.object({
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
})

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

type Place = Pick<Target, 'channel' | 'thread'>

/**
 * Shows the posts of a reply that were not shown yet: in the `earlier` ones that it takes over, while they are there, then in
 * posts of its own. From an earlier one on that somebody deleted, they are posted anew, to stay in order.
 */
export async function postAll(
  { posts, workspace, sent }: Sending,
  { channel, thread }: Place,
  earlier: readonly string[] = [],
): Promise<void> {
  const { chat } = workspace.api
  let left = earlier
  for (const shown of posts.slice(sent.posted.length)) {
    const ts = left[sent.posted.length]
    const changed = ts !== undefined && (await chat.update({ channel, ts, ...shown }).catch(ifGone))
    if (!changed) left = []
    const done = changed || (await chat.postMessage({ channel, ...shown, ...defined({ thread_ts: thread }) }))
    sent.channel = done.channel ?? channel
    sent.posted.push(done.ts ?? '')
  }
}

function ifGone(error: unknown): undefined {
  if (!GONE.test(slackFailure(error).code)) throw error
}

/** Uploads the files of a reply and shares them in one post (https://docs.slack.dev/messaging/working-with-files). */
export async function shareFiles(
  { reply, workspace, sent }: Sending,
  { channel, thread }: Place,
  artifacts: Artifacts,
): Promise<void> {
  const uploads = workspace.api.files
  const files: { id: string; title: string }[] = []
  for (const { name, sha256 } of reply.attachments ?? []) {
    const length = await lengthOf(await artifacts.open(sha256))
    const { file_id: id = '', upload_url = '' } = await uploads.getUploadURLExternal({
      filename: name,
      length,
    })
    await upload(upload_url, await artifacts.open(sha256), length)
    files.push({ id, title: name })
  }
  const [first, ...rest] = files
  if (!first) return
  const thread_ts = thread
  await uploads.completeUploadExternal({
    files: [first, ...rest],
    channel_id: channel,
    ...defined({ thread_ts }),
  })
  sent.files = files.map(({ id }) => id)
}

/** Uploads from the disk, so that no file is in memory as a whole. */
async function upload(url: string, file: Readable, length: number): Promise<void> {
  const headers = { 'content-type': 'application/octet-stream', 'content-length': String(length) }
  const signal = AbortSignal.timeout(UPLOAD_TIMEOUT)
  try {
    const response = await fetch(url, {
      ...{ method: 'POST', headers, body: file, duplex: 'half', redirect: 'error', signal },
    })
    await response.body?.cancel()
    if (!response.ok) throw new Error(`Slack answered ${response.status} to the upload of a file`)
  } finally {
    file.destroy()
  }
}

/** What skills say of the size of a file may be wrong. */
async function lengthOf(file: Readable): Promise<number> {
  let length = 0
  for await (const chunk of file) length += chunk.length
  return length
}
