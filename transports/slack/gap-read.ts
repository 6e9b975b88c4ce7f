import { isJsonObject, type JsonObject, toJson } from '../../src/core/json.ts'
import type { Log } from '../../src/core/log.ts'
import { createTokenBucket, type TokenBucket } from '../../src/lib/token-bucket.ts'
import { slackFailure } from './failure.ts'
import { textAt } from './fields.ts'
import { type Channel, TICK } from './gap-marks.ts'
import type { Workspace } from './workspaces.ts'

/** Reads back what was written in a channel and its threads. */
export type GapReader = {
  /**
   * What was written after `from` (Slack's seconds), as events, in order; `readTo`: nothing up to there was left out of
   * the channel. Rejects with what the Web API threw.
   */
  read(
    channel: Channel,
    workspace: Workspace,
    from: number,
  ): Promise<{ events: JsonObject[]; readTo: number }>
}

const TOO_MUCH = 'more was missed in Slack than is read back'
const PAGE = 100
const MAX_MESSAGES = 500
/** Slack gives some apps 15 messages a page. */
const MAX_PAGES = 40
const MAX_THREADS = 50
/** A remembered thread that was silent for longer is not asked for (s). */
const ACTIVE = 86_400
/**
 * https://docs.slack.dev/apis/web-api/rate-limits: both methods are of tier 3, 50 a minute in each workspace. After a
 * first burst half of it is left to reactions and to other daemons.
 */
const CALLS = { count: 20, per: 50_000 }

/** `wait` resolves after so many ms, or earlier where the gateway stops; then `stopped` is true. */
export function createGapReader(options: {
  wait(ms: number): Promise<void>
  stopped(): boolean
  now(): number
  log: Log
}): GapReader {
  const { wait, stopped, now, log } = options
  const paces = new Map<string, TokenBucket>()
  const paceOf = (method: string, { team }: Workspace): TokenBucket => {
    const name = `${method}/${team}`
    const pace = paces.get(name) ?? createTokenBucket(CALLS, now)
    paces.set(name, pace)
    return pace
  }

  const history = (channel: string, workspace: Workspace, range: { oldest: string; latest?: string }) =>
    readPages(paceOf('history', workspace), (page) =>
      workspace.api.call('conversations.history', (web) =>
        web.conversations.history({ channel, ...range, ...page }),
      ),
    )

  const replies = async (channel: Channel, workspace: Workspace, ts: string, oldest: string) => {
    const { id } = channel
    try {
      const { messages, isWhole } = await readPages(paceOf('replies', workspace), (page) =>
        workspace.api.call('conversations.replies', (web) =>
          web.conversations.replies({ channel: id, ts, oldest, ...page }),
        ),
      )
      if (!isWhole) log.warn({ channel: id, thread: ts }, TOO_MUCH)
      return messages
    } catch (error) {
      const failure = slackFailure(error)
      if (failure.kind !== 'rejected' || failure.code !== 'thread_not_found') throw error
      // Its root was deleted, and all of it with that.
      channel.threads.delete(ts)
      return []
    }
  }

  const readPages = async (
    pace: TokenBucket,
    read: (page: { limit: number; cursor?: string }) => Promise<Page>,
  ): Promise<{ messages: JsonObject[]; isWhole: boolean }> => {
    const messages: JsonObject[] = []
    let cursor: string | undefined
    for (let page = 0; page < MAX_PAGES && messages.length < MAX_MESSAGES; page++) {
      for (let ms = pace(); ms > 0 && !stopped(); ms = pace()) await wait(ms)
      if (stopped()) break
      const answer = await read({ limit: PAGE, ...(cursor ? { cursor } : {}) })
      for (const message of answer.messages ?? []) messages.push(objectOf(message))
      cursor = answer.response_metadata?.next_cursor
      if (!cursor) return { messages, isWhole: true }
    }
    return { messages, isWhole: stopped() }
  }

  /** Older threads that were spoken in lately and may have gone on: one look at their roots spares asking for each. */
  const goneOn = async (channel: Channel, workspace: Workspace, from: number): Promise<string[]> => {
    const since = now() / 1000 - ACTIVE
    const roots = [...channel.threads].filter(([root, at]) => at > since && Number(root) <= from)
    const older = roots.map(([root]) => root).reverse()
    if (older.length < 3) return older
    const oldest = (Math.min(...older.map(Number)) - TICK).toFixed(6)
    const latest = (from + TICK).toFixed(6)
    const { messages } = await history(channel.id, workspace, { oldest, latest })
    const silent = new Set(messages.filter((root) => latestReply(root) <= from).map(({ ts }) => String(ts)))
    return older.filter((root) => !silent.has(root))
  }

  return {
    async read(channel, workspace, from) {
      const oldest = from.toFixed(6)
      const { messages: found, isWhole } = await history(channel.id, workspace, { oldest })
      const begun = found.filter((root) => latestReply(root) > from).map(({ ts }) => String(ts))
      const threads = [...begun, ...(await goneOn(channel, workspace, from))]
      if (!isWhole || threads.length > MAX_THREADS) log.warn({ channel: channel.id }, TOO_MUCH)
      const messages = [...found]
      for (const ts of threads.slice(0, MAX_THREADS)) {
        if (stopped()) break
        messages.push(...(await replies(channel, workspace, ts, oldest)))
      }
      const mention = new RegExp(`<@${workspace.botUser}[|>]`)
      const events = messages
        .filter(({ ts }) => Number(ts) > from)
        .filter(({ text }) => channel.all || mention.test(String(text)))
        .sort((a, b) => Number(a.ts) - Number(b.ts))
        .map((message) => eventOf(message, channel))
      return { events, readTo: Math.max(0, ...found.map(({ ts }) => Number(ts))) }
    },
  }
}

/** 0 for what was not answered. */
function latestReply(message: JsonObject): number {
  return Number(textAt(message, 'latest_reply') ?? 0)
}

type Page = { messages?: unknown[]; response_metadata?: { next_cursor?: string } }

function objectOf(message: unknown): JsonObject {
  const value = toJson(message)
  return isJsonObject(value) ? value : {}
}

/** History has neither the channel nor its type; the events that Slack delivers have both. */
function eventOf(message: JsonObject, { id, type }: Channel): JsonObject {
  return { ...message, type: 'message', channel: id, channel_type: type ?? typeOf(id) }
}

function typeOf(channel: string): string {
  if (channel.startsWith('D')) return 'im'
  return channel.startsWith('G') ? 'group' : 'channel'
}
