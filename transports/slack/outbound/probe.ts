import { isJsonObject } from '../../../src/core/json.ts'
import type { Receipt, Reply } from '../../../src/core/transport.ts'
import type { Target } from '../conversation.ts'
import type { Workspace } from '../workspaces.ts'
import { METADATA_TYPE, type Progress, type SentLog } from './sent-log.ts'

export type Probe = { sent: true; receipt: Receipt } | { sent: false } | { sent: 'unknown' }

/** How much of a thread or channel is read in search of one post. */
const PAGES = 5
const PAGE = 200

/**
 * Looks in the thread, or the newest of the channel, for posts that carry the key of a reply. What is found is noted,
 * so that `send` goes on with what is missing.
 */
export async function probeThread(parts: {
  reply: Reply
  workspace: Workspace
  target: Target
  progress: Progress
  sent: SentLog
}): Promise<Probe> {
  const { reply, workspace, target, progress, sent } = parts
  // What only one person sees cannot be read back.
  if (target.responseUrl !== undefined) return { sent: 'unknown' }
  const found = await marksOf(reply.key, workspace, {
    ...target,
    channel: progress.channel ?? target.channel,
  })
  if (found === 'unknown') return { sent: 'unknown' }
  const [first] = found.values()
  if (!first) return { sent: false }
  const posted: string[] = []
  for (let part = 0; found.has(part); part++) posted.push(found.get(part)?.ts ?? '')
  const done = posted.length === first.parts && !reply.attachments?.length
  const next = { ...progress, posted, done }
  await sent.write(reply.key, next)
  return done
    ? {
        sent: true,
        receipt: { id: `${target.channel}/${posted[0]}`, data: { channel: target.channel, ts: posted } },
      }
    : { sent: false }
}

type Mark = { ts: string; parts: number }

async function marksOf(
  key: string,
  { api }: Workspace,
  target: Target,
): Promise<Map<number, Mark> | 'unknown'> {
  const marks = new Map<number, Mark>()
  let cursor: string | undefined
  for (let page = 0; page < PAGES; page++) {
    const answer = await api.call('conversations.replies', (web) => {
      const { channel, thread } = target
      const query = { channel, limit: PAGE, include_all_metadata: true, ...(cursor ? { cursor } : {}) }
      return thread === undefined
        ? web.conversations.history(query)
        : web.conversations.replies({ ...query, ts: thread })
    })
    for (const { ts, metadata } of answer.messages ?? []) {
      const payload: unknown = metadata?.event_payload
      if (metadata?.event_type !== METADATA_TYPE || !isJsonObject(payload) || payload.key !== key) continue
      const { part, parts: total } = payload
      if (typeof part === 'number' && typeof total === 'number' && ts) marks.set(part, { ts, parts: total })
    }
    cursor = answer.response_metadata?.next_cursor
    if (!cursor) return marks
    if (target.thread === undefined && marks.size > 0) return marks
  }
  return marks.size > 0 ? marks : 'unknown'
}
