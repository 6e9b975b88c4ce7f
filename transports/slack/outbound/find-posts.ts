import { objectAt, objectsAt, textAt } from '../../../src/core/json.ts'
import { defined } from '../../../src/lib/defined.ts'
import { readHistory } from '../api.ts'
import type { Target } from '../conversation.ts'
import type { Workspace } from '../workspaces/workspace.ts'

/** Maximum number of messages read in search of a post. */
const MAX_READ = 1000

/** Opens, or finds, the direct message channel with a user. Idempotent in Slack. */
export async function openDirect(user: string, { api }: Workspace): Promise<string> {
  const answer = await api.conversations.open({ users: user })
  return answer.channel?.id ?? user
}

/** Metadata that identifies a post; `own`: the sender's own metadata. */
export const marked = ({ key, part }: { key: string; part: number }, own?: unknown) => ({
  event_type: textAt(own, 'event_type') ?? 'trivium_reply',
  event_payload: { ...objectAt(own, 'event_payload'), trivium_key: key, trivium_part: part },
})

/**
 * Searches a thread, or the newest messages of a channel, for posts with a key: posts by part, whether one of the files was shared, and
 * our last unfinished stream. `complete` is false if there is more than was read.
 */
export async function findPosts(
  key: string,
  { api, botUser }: Workspace,
  { channel, thread }: Pick<Target, 'channel' | 'thread'>,
  files: readonly string[] = [],
) {
  const query = defined({ channel, ts: thread, limit: 200, include_all_metadata: true })
  const { messages, isCut } = await readHistory(api, query, MAX_READ)
  const posts = new Map<unknown, string>()
  const streams = messages.filter((each) => each.streaming_state === 'in_progress' && each.user === botUser)
  for (const message of messages) {
    const mark = objectAt(message, 'metadata.event_payload')
    if (mark.trivium_key === key) posts.set(mark.trivium_part, textAt(message, 'ts') ?? '')
  }
  const shared = messages.some((each) =>
    objectsAt(each, 'files').some(({ id }) => files.includes(String(id))),
  )
  return { posts, shared, stream: textAt(streams.at(-1), 'ts'), complete: !isCut }
}
