import { type Json, type JsonObject, toJson } from '../../src/core/json.ts'
import type { Log } from '../../src/core/log.ts'
import { defined } from '../../src/lib/defined.ts'
import type { SlackApi } from './api.ts'
import { slackFailure } from './failure.ts'
import { objectsAt, textAt } from './fields.ts'
import type { Channel } from './gap-memory.ts'
import type { Workspace } from './workspaces.ts'

/** The least difference between two timestamps of Slack. */
export const TICK = 1e-6
const MAX_MESSAGES = 500
const MAX_THREADS = 50
/** A remembered thread that was silent for longer is not asked for, nor is its root looked for further back (s). */
const ACTIVE = 86_400
/** Later than any message, however far Slack's clock and ours differ (s). */
const FUTURE = 30 * 86_400

/**
 * What was written in a channel and its threads after `from` (Slack's seconds), as events, in order. Waits for `pace`
 * before each call. Rejects with what that or the Web API threw.
 */
export async function readBack(
  channel: Channel,
  from: number,
  { api, botUser }: Workspace,
  { pace, log }: { pace(): Promise<void>; log: Log },
): Promise<JsonObject[]> {
  const { channel: id, all } = channel
  const active = Object.keys(channel.active).filter((root) => Number(channel.active[root]) > from - ACTIVE)
  // The history goes back to the threads that may have gone on: it tells which of them did.
  const near = active.map(Number).filter((root) => root > from - ACTIVE)
  const oldest = (Math.min(from, ...near) - TICK).toFixed(6)
  // Without an end Slack may give what is closest to `oldest` first, and what was missed last.
  const range = { channel: id, oldest, latest: (from + FUTURE).toFixed(6) }
  const history = await readHistory(api, range, MAX_MESSAGES, pace)
  const found = new Map(history.messages.map((message) => [textAt(message, 'ts') ?? '', message]))
  const answered = [...found].filter(([, root]) => Number(root.latest_reply ?? 0) > from).map(([ts]) => ts)
  const roots = [...answered, ...active.filter((root) => !found.has(root)).reverse()]
  const isCut = history.isCut && Number(history.messages.at(-1)?.ts) > from
  if (isCut || roots.length > MAX_THREADS) tooMuch()
  for (const root of roots.slice(0, MAX_THREADS)) {
    for (const message of await replies(root)) found.set(textAt(message, 'ts') ?? '', message)
  }
  const mention = new RegExp(`<@${botUser}[|>]`)
  return (
    [...found.values()]
      .filter(({ ts, text }) => Number(ts) > from && (all || mention.test(String(text))))
      .sort((a, b) => Number(a.ts) - Number(b.ts))
      // History does not say where it is of; the events that Slack delivers do.
      .map((message) => ({ ...message, type: 'message', channel: id }))
  )

  async function replies(ts: string): Promise<JsonObject[]> {
    try {
      const thread = await readHistory(api, { channel: id, ts, oldest: from.toFixed(6) }, MAX_MESSAGES, pace)
      if (thread.isCut) tooMuch()
      return thread.messages
    } catch (error) {
      if (slackFailure(error).code !== 'thread_not_found') throw error
      // Its root was deleted, and all of it with that.
      delete channel.active[ts]
      return []
    }
  }

  function tooMuch() {
    log.warn({ channel: id }, 'more was missed in Slack than is read back')
  }
}

/** Slack gives some apps 15 messages a page. */
const MAX_PAGES = 40

/** Where and what is read: all of a channel, or with `ts` one of its threads. */
type Query = { channel: string; ts?: string; [option: string]: Json }

/**
 * The messages of a channel or thread in Slack's order, about `most` of them; `isCut`: there are more. Waits for `pace`
 * before each call. Rejects with what that or the Web API threw.
 */
export async function readHistory(api: SlackApi, query: Query, most: number, pace = async () => {}) {
  const method = `conversations.${query.ts === undefined ? 'history' : 'replies'}`
  const messages: JsonObject[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES && messages.length < most; page++) {
    await pace()
    const asked = defined({ limit: 100, ...query, cursor })
    const answer = toJson(await api.apiCall(method, asked))
    messages.push(...objectsAt(answer, 'messages'))
    cursor = textAt(answer, 'response_metadata.next_cursor')
    if (!cursor) return { messages, isCut: false }
  }
  return { messages, isCut: true }
}
