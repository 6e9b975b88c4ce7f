import { isJsonObject } from '../../../src/core/json.ts'
import type { Reply } from '../../../src/core/transport.ts'
import type { Target } from '../conversation.ts'
import type { Workspace } from '../workspaces.ts'
import { METADATA_TYPE, type Progress } from './sent-log.ts'

/** How much of a thread or channel is read in search of one reply. */
const PAGES = 5
const PAGE = 200

/** What was found: the posts by part, how many there should be, and whether the files were shared. */
type Found = { posts: Map<number, string>; parts: number; shared: boolean; complete: boolean }

/**
 * Looks in the thread, or the newest of the channel, for posts that carry the key of a reply. What is found is noted
 * in `progress`, so that `send` goes on with what is missing. True: all of it arrived.
 */
export async function probeThread(options: {
  reply: Reply
  /** How many posts its text takes. */
  parts: number
  workspace: Workspace
  target: Target
  progress: Progress
  save(): Promise<void>
}): Promise<boolean | 'unknown'> {
  const { reply, workspace, target, progress, save } = options
  const found = await findPosts(reply.key, progress.files ?? [], workspace, target)
  for (let part = progress.posted.length; found.posts.has(part); part++) {
    progress.posted.push(found.posts.get(part) ?? '')
    progress.channel = target.channel
  }
  const parts = found.parts || options.parts
  progress.done = isTextThere(progress, parts) && (!reply.attachments?.length || found.shared)
  await save()
  if (progress.done) return true
  return found.complete ? false : 'unknown'
}

/** Looks for the posts of a key, the newest first where it is not in a thread. */
export async function findPosts(
  key: string,
  files: readonly string[],
  { api }: Workspace,
  target: Target,
): Promise<Found> {
  const found: Found = { posts: new Map(), parts: 0, shared: false, complete: false }
  const { channel, thread } = target
  let cursor: string | undefined
  for (let page = 0; page < PAGES; page++) {
    const query = { channel, limit: PAGE, include_all_metadata: true, ...(cursor ? { cursor } : {}) }
    const answer =
      thread === undefined
        ? await api.write('conversations.history', (web) => web.conversations.history(query))
        : await api.write('conversations.replies', (web) =>
            web.conversations.replies({ ...query, ts: thread }),
          )
    for (const message of answer.messages ?? []) {
      if (message.files?.some(({ id }) => id !== undefined && files.includes(id))) found.shared = true
      const payload: unknown = message.metadata?.event_payload
      if (message.metadata?.event_type !== METADATA_TYPE || !isJsonObject(payload)) continue
      if (payload.key !== key || typeof payload.part !== 'number' || !message.ts) continue
      found.posts.set(payload.part, message.ts)
      if (typeof payload.parts === 'number') found.parts = payload.parts
    }
    cursor = answer.response_metadata?.next_cursor
    if (!cursor) return { ...found, complete: true }
  }
  return found
}

/** Files are noted, and posts of its own are made, only after the posts that it takes over were changed. */
function isTextThere({ posted, files, replaces }: Progress, parts: number): boolean {
  if (files !== undefined) return true
  return posted.length >= parts && (replaces === undefined || posted.length > replaces.posts)
}
