import type { KnownBlock } from '@slack/web-api'
import type { Target } from '../conversation.ts'
import type { Workspace } from '../workspaces.ts'
import { METADATA_TYPE, type Progress } from './sent-log.ts'

/** What is posted: texts in Slack's markup, one a post, and the blocks that the first one shows. */
export type Content = { parts: string[]; blocks?: KnownBlock[] }

type Posting = {
  key: string
  content: Content
  workspace: Workspace
  target: Target
  /** What was posted already; grows with every post. */
  progress: Progress
  /** Keeps `progress`; called after every post, before the next. */
  save(): Promise<void>
}

/**
 * Posts the parts that were not posted yet. No post is retried here: each carries its key, so that one whose outcome
 * is unknown can be looked for.
 */
export async function postAll(posting: Posting): Promise<void> {
  const { key, content, workspace, target, progress, save } = posting
  const { parts, blocks } = content
  const { channel, thread } = target
  for (let part = progress.posted.length; part < parts.length; part++) {
    await workspace.api.pace(channel)
    const answer = await workspace.api.call(`chat.postMessage/${channel}`, (web) =>
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
    await save()
  }
}

/** Puts the parts into posts that are there, and posts what is left over. Doing it twice changes nothing. */
export async function updateAll(posting: Posting): Promise<void> {
  const { content, workspace, target, progress } = posting
  const { parts, blocks = [] } = content
  const channel = progress.channel ?? target.channel
  const there = Math.min(parts.length, progress.posted.length)
  for (let part = 0; part < there; part++) {
    await workspace.api.pace(`update/${channel}`)
    await workspace.api.call('chat.update', (web) =>
      web.chat.update({
        channel,
        ts: progress.posted[part] ?? '',
        text: parts[part] ?? '',
        blocks: part === 0 ? blocks : [],
      }),
    )
  }
  await postAll(posting)
}

/** Posts what only `user` sees; Slack keeps none of it. Returns the timestamps. */
export async function postEphemeral(options: {
  content: Content
  user: string
  workspace: Workspace
  target: Target
}): Promise<string[]> {
  const { content, user, workspace, target } = options
  const { channel, thread } = target
  const posted: string[] = []
  for (const [part, text] of content.parts.entries()) {
    await workspace.api.pace(channel)
    const answer = await workspace.api.call('chat.postEphemeral', (web) =>
      web.chat.postEphemeral({
        channel,
        user,
        text,
        ...(part === 0 && content.blocks ? { blocks: content.blocks } : {}),
        ...(thread === undefined ? {} : { thread_ts: thread }),
      }),
    )
    posted.push(answer.message_ts ?? '')
  }
  return posted
}
