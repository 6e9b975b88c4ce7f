import type { Readable } from 'node:stream'
import type { Artifacts, Reply } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { slackFailure, UPLOAD_TIMEOUT } from '../api.ts'
import type { Target } from '../conversation.ts'
import type { Workspace } from '../workspaces/workspace.ts'
import type { Post } from './post-blocks.ts'
import type { Sent } from './sent-records.ts'
import type { SlackFields } from './slack-fields.ts'

/** Errors for posts that no longer exist or can no longer be changed. */
const UNCHANGEABLE = /^(message_not_found|cant_update_message|edit_window_closed)$/

/** A send in progress. */
export type Sending = {
  reply: Reply
  fields: SlackFields
  posts: Post[]
  workspace: Workspace
  target: Target
  sent: Sent
}

type Place = Pick<Target, 'channel' | 'thread'>

/**
 * Publishes the remaining posts of a reply: first by updating `earlier` posts that it takes over,
 * then as new posts. If an earlier post was deleted, it and all later ones are posted again, to
 * keep the order.
 */
export async function postAll(
  { posts, workspace, sent }: Sending,
  { channel, thread }: Place,
  earlier: readonly string[] = [],
): Promise<void> {
  const { chat } = workspace.api
  let replaced = earlier
  for (const post of posts.slice(sent.posted.length)) {
    const ts = replaced[sent.posted.length]
    const updated = ts !== undefined && (await chat.update({ channel, ts, ...post }).catch(ifUnchangeable))
    if (!updated) replaced = []
    const answer =
      updated || (await chat.postMessage({ channel, ...post, ...defined({ thread_ts: thread }) }))
    sent.channel = answer.channel ?? channel
    sent.posted.push(answer.ts ?? '')
  }
}

/** For `catch`: returns undefined if a post cannot be changed, and rethrows other errors. */
function ifUnchangeable(error: unknown): undefined {
  if (!UNCHANGEABLE.test(slackFailure(error).code)) throw error
}

/**
 * Uploads the files of a reply and shares them in one post
 * (https://docs.slack.dev/messaging/working-with-files).
 */
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
  await uploads.completeUploadExternal({
    files: [first, ...rest],
    channel_id: channel,
    ...defined({ thread_ts: thread }),
  })
  sent.files = files.map(({ id }) => id)
}

/** Streams a file from disk to Slack. */
async function upload(url: string, file: Readable, length: number): Promise<void> {
  const headers = { 'content-type': 'application/octet-stream', 'content-length': String(length) }
  const signal = AbortSignal.timeout(UPLOAD_TIMEOUT)
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body: file,
      duplex: 'half',
      redirect: 'error',
      signal,
    })
    await response.body?.cancel()
    if (!response.ok) throw new Error(`Slack answered ${response.status} to the upload of a file`)
  } finally {
    file.destroy()
  }
}

/** Measures a file in bytes, because sizes given by skills may be wrong. */
async function lengthOf(file: Readable): Promise<number> {
  let length = 0
  for await (const chunk of file) length += chunk.length
  return length
}
