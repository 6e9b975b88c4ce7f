import { type JsonObject, textAt } from '../../../src/core/json.ts'
import type { Log } from '../../../src/core/log.ts'
import { defined } from '../../../src/lib/defined.ts'
import { readHistory, slackFailure } from '../api.ts'
import type { Delivery } from '../inbound/delivery.ts'
import type { Workspace } from '../workspaces/workspace.ts'
import type { Workspaces } from '../workspaces/workspaces.ts'
import type { Gap } from './channel.ts'

// Times are in seconds, like Slack's timestamps.

/**
 * Overlap of reads: Slack may deliver late and out of order, and its clock may differ from ours.
 */
const OVERLAP = 60
/** The smallest difference between two Slack timestamps. */
export const TICK = 1e-6
/** Maximum messages of one read (the history, or a thread). Checked after each page. */
const MAX_MESSAGES = 500
/** Maximum threads that are read per channel. */
const MAX_THREADS = 50
/** Threads without messages for this time are not read. */
const ACTIVE = 86_400
/** The start of a read plus this time is later than any message, whatever the clocks say. */
const FUTURE = 30 * 86_400

/** Messages by timestamp, in Slack's format. */
type Messages = Map<string, JsonObject>

/**
 * Reads the messages of a channel and its threads since the start of a gap, as events, in order.
 * Messages older than `maxAge` (ms) are left out.
 */
export function createReadBack(deps: {
  workspaces: Pick<Workspaces, 'find'>
  /** Resolves when the next call is allowed. */
  pace(): Promise<void>
  maxAge: number
  log: Log
}) {
  const { workspaces, pace, maxAge, log } = deps

  return async (gap: Gap): Promise<Delivery[]> => {
    const { team, channel, first } = gap.channel
    const workspace = await workspaces.find(team)
    // The app may have been removed there.
    if (!workspace) return []
    const from = Math.max(gap.since - OVERLAP, first - TICK, (gap.openedAt - maxAge) / 1000)
    const found: Messages = new Map()
    /** Adds messages to `found`. Resolves with them if there are more; otherwise with false. */
    const read = async (query: JsonObject) => {
      const { messages, hasMore } = await readHistory(
        workspace.api,
        { channel, ...query },
        MAX_MESSAGES,
        pace,
      )
      for (const message of messages) found.set(textAt(message, 'ts') ?? '', message)
      return hasMore && messages
    }
    const hasMore = await readChannel(gap, from, found, read)
    if (hasMore) log.warn({ channel }, 'more Slack messages were missed than are read back')
    return eventsOf(gap, from, found, workspace)
  }

  /** Reads the history and the active threads. Resolves with whether messages were left out. */
  async function readChannel(
    { channel: { active: threads } }: Gap,
    from: number,
    found: Messages,
    read: (query: JsonObject) => Promise<readonly JsonObject[] | false>,
  ): Promise<boolean> {
    const isRecent = (time = 0) => time > from - ACTIVE
    const active = Object.keys(threads).filter((root) => isRecent(threads[root]))
    // The history is read from the oldest recent root on, because it shows which threads have new
    // messages. Active threads with older roots are read without it.
    const recentRoots = active.map(Number).filter((root) => isRecent(root))
    const oldest = (Math.min(from, ...recentRoots) - TICK).toFixed(6)
    // Without an end, Slack may return the messages closest to `oldest` first, and the newest would
    // be missed.
    const cutHistory = await read({ oldest, latest: (from + FUTURE).toFixed(6) })
    const answered = [...found].filter(([, root]) => Number(root.latest_reply ?? 0) > from).map(([ts]) => ts)
    const roots = [...answered, ...active.filter((root) => !found.has(root)).reverse()]
    // The history is read from its end, so a cut one may still reach back to the start of the gap.
    const isHistoryCut = cutHistory !== false && Number(cutHistory.at(-1)?.ts) > from
    let hasMore = roots.length > MAX_THREADS || isHistoryCut
    for (const ts of roots.slice(0, MAX_THREADS)) {
      try {
        await pace()
        if (await read({ ts, oldest: from.toFixed(6) })) hasMore = true
      } catch (error) {
        if (slackFailure(error).code !== 'thread_not_found') throw error
        // The root was deleted, and so was the whole thread.
        delete threads[ts]
      }
    }
    return hasMore
  }
}

/** Converts messages to the events that Slack would have delivered, in order. */
function eventsOf({ channel }: Gap, from: number, found: Messages, workspace: Workspace): Delivery[] {
  const { team, channel: id, all, mentions } = channel
  const mention = new RegExp(`<@${workspace.botUser}[|>]`)
  const messages = [...found.values()]
    .filter(({ ts, text }) => Number(ts) > from && (all || mention.test(String(text))))
    .sort((a, b) => Number(a.ts) - Number(b.ts))
  const shared = defined({ is_ext_shared_channel: channel.shared })
  // History does not include the channel type, but `message` events do.
  const channel_type = channel.type ?? (id.startsWith('D') ? 'im' : 'channel')
  return messages.flatMap((message) => {
    // Older records lack `mentions`. Where Slack does not deliver all messages, it delivers
    // mentions.
    const isMentioned = mention.test(String(message.text)) && (mentions || !all)
    const kinds: JsonObject[] = [
      ...(all ? [{ type: 'message', channel_type }] : []),
      ...(isMentioned ? [{ type: 'app_mention' }] : []),
    ]
    const place = { channel: id, event_ts: message.ts ?? '' }
    return kinds.map((kind) => {
      const event = { ...message, ...place, ...kind }
      const payload = { type: 'event_callback', team_id: team, ...shared, event }
      return { payload, workspace, retry: 0 }
    })
  })
}
