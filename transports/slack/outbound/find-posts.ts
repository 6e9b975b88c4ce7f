import { objectAt, objectsAt, textAt } from '../../../src/core/json.ts'
import { defined } from '../../../src/lib/defined.ts'
import { readHistory } from '../api.ts'
import type { Target } from '../conversation.ts'
import type { Workspace } from '../workspaces/workspace.ts'

/** Maximum number of messages that are read to find a post. */
const MAX_READ = 1_000
const PAGE_SIZE = 200

/** Opens, or finds, the direct message channel with a user. Idempotent in Slack. */
export async function openDirect(user: string, { api }: Workspace): Promise<string> {
  const answer = await api.conversations.open({ users: user })
  return answer.channel?.id ?? user
}

/** The metadata of a post: its own, if any, and the mark that identifies the post. */
export const withMark = ({ key, part }: { key: string; part: number }, metadata?: unknown) => ({
  event_type: textAt(metadata, 'event_type') ?? 'trivium_reply',
  event_payload: { ...objectAt(metadata, 'event_payload'), trivium_key: key, trivium_part: part },
})

/**
 * Searches a thread, or the newest messages of a channel, for posts with a key. `posts`: timestamps
 * by part. `isShared`: one of the files was shared. `stream`: the timestamp of our last unfinished
 * stream. `isComplete`: all messages were read.
 */
export async function findPosts(
  key: string,
  { api, botUser }: Workspace,
  { channel, thread }: Pick<Target, 'channel' | 'thread'>,
  files: readonly string[] = [],
) {
  const query = defined({ channel, ts: thread, limit: PAGE_SIZE, include_all_metadata: true })
  const { messages, hasMore } = await readHistory(api, query, MAX_READ)
  const posts = new Map<unknown, string>()
  // Streams are only in threads, which Slack lists oldest first.
  const streams = messages.filter((each) => each.streaming_state === 'in_progress' && each.user === botUser)
  for (const message of messages) {
    const mark = objectAt(message, 'metadata.event_payload')
    if (mark.trivium_key === key) posts.set(mark.trivium_part, textAt(message, 'ts') ?? '')
  }
  const isShared = messages.some((each) =>
    objectsAt(each, 'files').some(({ id }) => files.includes(String(id))),
  )
  return { posts, isShared, stream: textAt(streams.at(-1), 'ts'), isComplete: !hasMore }
}
