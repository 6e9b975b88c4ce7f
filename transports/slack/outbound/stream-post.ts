import type { AnyChunk } from '@slack/web-api'
import { z } from 'zod'
import { defined } from '../../../src/lib/defined.ts'
import { ifRefused } from '../api.ts'
import type { Workspace } from '../workspaces/workspace.ts'
import { findPosts, marked } from './find-posts.ts'
import { STOP } from './post-blocks.ts'
import type { Sending } from './posts.ts'
import { markdownPosts } from './slack-fields.ts'
import { LIMIT, quietMarkdown } from './words.ts'

/** The post of a stream. `isOpen`: a native Slack stream, which must be stopped before other changes. */
export const shownSchema = z.object({
  channel: z.string(),
  ts: z.string(),
  isOpen: z.boolean().exactOptional(),
})

export type Shown = z.infer<typeof shownSchema>

/** `said`: text already in a native Slack stream, to which updates are appended. */
type Native = { said?: string }

type Place = Pick<Sending, 'workspace' | 'target'>

/** Marks the post of a stream, so that it is found if its answer is lost. */
const keyOf = (id: string) => `stream:${id}`

/** Shows the current text: appends to a native stream if possible, else edits the post. */
export async function showText(
  id: string,
  text: string,
  { workspace, target }: Place,
  stream: Native,
  shown?: Shown,
): Promise<Shown> {
  const { channel, thread } = target
  const { chat } = workspace.api
  const native = await append(quietMarkdown(text), { workspace, target }, stream, shown)
  if (native) return native
  const [first = { text: '', blocks: [] }] = markdownPosts(`${text} …`)
  if (!workspace.isAgent) first.blocks.push(STOP)
  await finish(shown, workspace)
  const metadata = marked({ key: keyOf(id), part: 0 })
  const there = shown
    ? await chat.update({ channel: shown.channel, ts: shown.ts, ...first })
    : await chat.postMessage({ channel, ...first, ...defined({ thread_ts: thread }), metadata })
  return { channel: there.channel ?? channel, ts: there.ts ?? '' }
}

/** Starts or continues a native stream. Undefined if that is not possible. */
async function append(
  part: string,
  { workspace, target }: Place,
  stream: Native,
  shown: Shown | undefined,
): Promise<Shown | undefined> {
  const { team, channel, thread, user } = target
  const { chat } = workspace.api
  const said = shown ? stream.said : ''
  delete stream.said
  // A retry may have produced a different text, and a mention may be complete only now.
  const continues = said !== undefined && part.startsWith(said) && part.length <= LIMIT
  if (!thread || !user || !continues) return undefined
  const more: AnyChunk = { type: 'markdown_text', text: part.slice(said.length) }
  const all: AnyChunk[] = workspace.isAgent ? [more] : [{ type: 'blocks', blocks: [STOP] }, more]
  const whom = { recipient_user_id: user, recipient_team_id: team }
  const call = shown
    ? chat.appendStream({ channel, ts: shown.ts, chunks: [more] })
    : chat.startStream({ channel, thread_ts: thread, ...whom, chunks: all })
  const { ts } = (await call.catch(ifRefused)) ?? {}
  if (!ts) return undefined
  stream.said = part
  return { channel, ts, isOpen: true }
}

/** Ends a native stream, unless Slack already ended it. */
export async function finish(shown: Shown | undefined, workspace: Workspace | undefined): Promise<void> {
  if (!shown?.isOpen) return
  await workspace?.api.chat.stopStream({ channel: shown.channel, ts: shown.ts }).catch(ifRefused)
}

/** Searches for the post of a stream whose answer was lost. */
export async function findShown(id: string, { workspace, target }: Place): Promise<Shown | undefined> {
  const { channel } = target
  const { posts, stream } = await findPosts(keyOf(id), workspace, target)
  const [ts] = posts.values()
  if (ts !== undefined) return { channel, ts }
  return stream ? { channel, ts: stream, isOpen: true } : undefined
}
