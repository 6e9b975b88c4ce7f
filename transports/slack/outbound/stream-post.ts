import type { AnyChunk } from '@slack/web-api'
import { z } from 'zod'
import { defined } from '../../../src/lib/defined.ts'
import { ifRefused } from '../api.ts'
import type { Workspace } from '../workspaces/workspace.ts'
import { MAX_MARKDOWN, withoutGroupMentions } from './escape-text.ts'
import { findPosts, withMark } from './find-posts.ts'
import { STOP } from './post-blocks.ts'
import type { Sending } from './posts.ts'
import { markdownPosts } from './slack-fields.ts'

/**
 * The post of a stream. `isOpen`: a native Slack stream, which must be stopped before other
 * changes.
 */
export const streamPostSchema = z.object({
  channel: z.string(),
  ts: z.string(),
  isOpen: z.boolean().exactOptional(),
})

export type StreamPost = z.infer<typeof streamPostSchema>

/** `streamed`: the text that a native Slack stream already has; updates are appended to it. */
type NativeStream = { streamed?: string }

type Place = Pick<Sending, 'workspace' | 'target'>

/** Marks the post of a stream, so that it is found if its answer is lost. */
const keyOf = (id: string) => `stream:${id}`

/** Shows the current text: appends to a native stream if possible, else creates or edits a post. */
export async function showText(
  id: string,
  text: string,
  { workspace, target }: Place,
  stream: NativeStream,
  post?: StreamPost,
): Promise<StreamPost> {
  const { channel, thread } = target
  const { chat } = workspace.api
  const native = await append(withoutGroupMentions(text), { workspace, target }, stream, post)
  if (native) return native
  const [content = { text: '', blocks: [] }] = markdownPosts(`${text} …`)
  // Slack shows its own stop button for agents.
  if (!workspace.isAgent) content.blocks.push(STOP)
  await finish(post, workspace)
  const metadata = withMark({ key: keyOf(id), part: 0 })
  const answer = post
    ? await chat.update({ channel: post.channel, ts: post.ts, ...content })
    : await chat.postMessage({ channel, ...content, ...defined({ thread_ts: thread }), metadata })
  return { channel: answer.channel ?? channel, ts: answer.ts ?? '' }
}

/** Starts or continues a native stream. Resolves with undefined if that is not possible. */
async function append(
  text: string,
  { workspace, target }: Place,
  stream: NativeStream,
  post: StreamPost | undefined,
): Promise<StreamPost | undefined> {
  const { team, channel, thread, user } = target
  const { chat } = workspace.api
  const streamed = post ? stream.streamed : ''
  // Unset until Slack confirms the next addition.
  delete stream.streamed
  // A retry may have produced a different text, and a mention may be complete only now.
  const continues = streamed !== undefined && text.startsWith(streamed) && text.length <= MAX_MARKDOWN
  if (!thread || !user || !continues) return undefined
  const addition: AnyChunk = { type: 'markdown_text', text: text.slice(streamed.length) }
  const first: AnyChunk[] = workspace.isAgent ? [addition] : [{ type: 'blocks', blocks: [STOP] }, addition]
  const recipient = { recipient_user_id: user, recipient_team_id: team }
  const call = post
    ? chat.appendStream({ channel, ts: post.ts, chunks: [addition] })
    : chat.startStream({ channel, thread_ts: thread, ...recipient, chunks: first })
  const { ts } = (await call.catch(ifRefused)) ?? {}
  if (!ts) return undefined
  stream.streamed = text
  return { channel, ts, isOpen: true }
}

/** Ends a native stream, unless Slack already ended it. */
export async function finish(post: StreamPost | undefined, workspace: Workspace | undefined): Promise<void> {
  if (!post?.isOpen) return
  await workspace?.api.chat.stopStream({ channel: post.channel, ts: post.ts }).catch(ifRefused)
}

/** Searches Slack for the post of a stream if the answer to its creation was lost. */
export async function findStreamPost(
  id: string,
  { workspace, target }: Place,
): Promise<StreamPost | undefined> {
  const { channel } = target
  const { posts, stream } = await findPosts(keyOf(id), workspace, target)
  const [ts] = posts.values()
  if (ts !== undefined) return { channel, ts }
  return stream ? { channel, ts: stream, isOpen: true } : undefined
}
