import type { KnownBlock } from '@slack/web-api'
import type { Target } from '../conversation.ts'
import type { Workspace } from '../workspaces.ts'
import { METADATA_TYPE, type Progress } from './sent-log.ts'

/** What is posted: texts in Slack's markup, one a post, and the blocks that the first one shows. */
export type Content = { parts: string[]; blocks?: KnownBlock[] }

export type Posting = {
  key: string
  content: Content
  workspace: Workspace
  target: Target
  /** What was posted already; grows with every post. */
  progress: Progress
  /** Keeps `progress`; called after every post, before the next. */
  save(): Promise<void>
  /** Nothing of the reply follows its posts: with the last one it is done, and saved once. */
  last?: true
}

/**
 * Posts the parts that were not posted yet. No post is retried here: each carries its key, so that one whose outcome
 * is unknown can be looked for.
 */
export async function postAll(posting: Posting): Promise<void> {
  const { key, content, workspace, target, progress, save, last } = posting
  const { parts, blocks } = content
  const { channel, thread } = target
  for (let part = progress.posted.length; part < parts.length; part++) {
    await workspace.api.pace(channel, key)
    const answer = await workspace.api.write(`chat.postMessage/${channel}`, (web) =>
      web.chat.postMessage({
        channel,
        text: parts[part] ?? '',
        ...(part === 0 && blocks ? { blocks } : {}),
        ...(thread === undefined ? {} : { thread_ts: thread }),
        metadata: { event_type: METADATA_TYPE, event_payload: { key, part, parts: parts.length } },
      }),
    )
    progress.channel = answer.channel ?? channel
    progress.posted.push(answer.ts ?? '')
    if (last && part + 1 === parts.length) progress.done = true
    await save()
  }
}

/** Changes the text and the blocks of one post, for the reply with that key. Doing it twice changes nothing. */
export async function updatePost(
  { api }: Workspace,
  key: string,
  post: { channel: string; ts: string; text: string; blocks?: KnownBlock[] },
): Promise<void> {
  await api.pace(`update/${post.channel}`, key)
  await api.write('chat.update', (web) => web.chat.update({ ...post, blocks: post.blocks ?? [] }))
}
