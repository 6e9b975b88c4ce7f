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
  workspace: Workspace
  target: Target
  progress: Progress
  save(): Promise<void>
}): Promise<boolean | 'unknown'> {
  const { reply, workspace, target, progress, save } = options
  const place = { ...target, channel: progress.channel ?? target.channel }
  const found = await search(reply.key, progress.files ?? [], workspace, place)
  const posted: string[] = []
  for (let part = 0; found.posts.has(part); part++) posted.push(found.posts.get(part) ?? '')
  if (posted.length > progress.posted.length) {
    progress.posted = posted
    progress.channel = place.channel
  }
  const textThere = reply.text === '' || (found.parts > 0 && progress.posted.length >= found.parts)
  const filesThere = !reply.attachments?.length || found.shared
  progress.done = textThere && filesThere
  await save()
  if (progress.done) return true
  return found.complete ? false : 'unknown'
}

async function search(key: string, files: string[], { api }: Workspace, target: Target): Promise<Found> {
  const found: Found = { posts: new Map(), parts: 0, shared: false, complete: false }
  const { channel, thread } = target
  let cursor: string | undefined
  for (let page = 0; page < PAGES; page++) {
    const query = { channel, limit: PAGE, include_all_metadata: true, ...(cursor ? { cursor } : {}) }
    const answer = await api.call('conversations.replies', (web) =>
      thread === undefined
        ? web.conversations.history(query)
        : web.conversations.replies({ ...query, ts: thread }),
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
