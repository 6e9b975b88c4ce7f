import type { Log } from '../../src/core/log.ts'
import { inTime, pause } from '../../src/lib/pause.ts'
import { putLast } from '../../src/lib/put-last.ts'
import type { SlackApi } from './api.ts'
import { slackFailure } from './failure.ts'

/**
 * `known` until `until`: a name, or that Slack has none for us. `asked` ends after the pause that follows a failure: so many
 * who wait ask once.
 */
type Entry = { known?: { name: string | undefined }; until: number; asked?: Promise<void> }

type Question = () => Promise<string | undefined>

const LIMIT = 5000
/** How long is known what Slack told, and that it refused to: the bot may be invited to the channel, or get the scope. */
const KNOWN_FOR = 600_000
const REFUSED_FOR = 60_000
const RETRY = 700

export type Directory = ReturnType<typeof createDirectory>

/**
 * Names for ids, of which the last used are remembered. Nothing here throws. What Slack cannot tell at the moment (a
 * rate limit, trouble, no answer) is asked for again for `patience` ms, and is undefined then. What it will not tell (a
 * missing scope, an unknown id) is known to have no name. An old name is given while a new one is asked for.
 */
export function createDirectory({ api, now, log }: { api: SlackApi; now(): number; log: Log }) {
  const entries = new Map<string, Entry>()

  /** `method`: what Slack counts against a limit. */
  const lookUp = async (method: string, id: string, patience: number, ask: Question) => {
    const key = `${method}/${id}`
    const entry = entries.get(key) ?? { until: 0 }
    putLast(entries, key, entry, LIMIT)
    for (let late: AbortSignal | undefined; entry.until <= now() && !late?.aborted; ) {
      entry.asked ??= askOnce(entry, method, ask)
      if (entry.known?.name !== undefined) break
      late ??= AbortSignal.timeout(patience)
      await inTime(entry.asked, late)
    }
    return entry.known
  }

  const askOnce = async (entry: Entry, method: string, ask: Question): Promise<void> => {
    try {
      entry.known = { name: await ask() }
      entry.until = now() + KNOWN_FOR
    } catch (error) {
      const { kind, reason } = slackFailure(error)
      log.debug({ method, reason }, 'a name could not be looked up')
      if (kind === 'rejected')
        Object.assign(entry, { known: { name: undefined }, until: now() + REFUSED_FOR })
      else await pause(RETRY)
    }
    delete entry.asked
  }

  return {
    user: (user: string, patience: number) =>
      lookUp('users.info', user, patience, async () => {
        const { profile, real_name, name } = (await api.users.info({ user })).user ?? {}
        return profile?.display_name || profile?.real_name || real_name || name
      }),
    channel: (channel: string, patience: number) =>
      lookUp('conversations.info', channel, patience, async () => {
        return (await api.conversations.info({ channel })).channel?.name
      }),
    /** The thread that a message is part of; no name where it is in none. */
    threadOf: (channel: string, ts: string, patience: number) =>
      lookUp('conversations.replies', `${channel}/${ts}`, patience, async () => {
        const { messages } = await api.conversations.replies({ channel, ts, limit: 1 })
        return messages?.[0]?.thread_ts
      }),
  }
}
