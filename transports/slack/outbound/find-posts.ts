import { objectAt, objectsAt, textAt } from '../../../src/core/json.ts'
import { defined } from '../../../src/lib/defined.ts'
import { readHistory } from '../api.ts'
import type { Target } from '../conversation.ts'
import type { Workspace } from '../workspaces.ts'

/** How much of a thread or channel is read in search of one post. */
const MAX_READ = 1000

/** Opens the direct messages of the bot with a user, or finds them: Slack answers the same each time. */
export async function openDirect(user: string, { api }: Workspace): Promise<string> {
  const answer = await api.conversations.open({ users: user })
  return answer.channel?.id ?? user
}

/** The metadata by which a post is found again; `own` is what its sender puts there besides. */
export const marked = ({ key, part }: { key: string; part: number }, own?: unknown) => ({
  event_type: textAt(own, 'event_type') ?? 'trivium_reply',
  event_payload: { ...objectAt(own, 'event_payload'), trivium_key: key, trivium_part: part },
})

/**
 * Looks for what carries a key, in a thread or in the newest of a channel: its posts by part, whether one of these files was
 * shared, and the last stream of ours that has not ended. Not `complete`: there is more than is read.
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
