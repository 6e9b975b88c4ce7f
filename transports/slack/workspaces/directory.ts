import type { TransportDeps } from '../../../src/core/transport.ts'
import { inTime, pause } from '../../../src/lib/pause.ts'
import { putLast } from '../../../src/lib/put-last.ts'
import { type SlackApi, slackFailure } from '../api.ts'

const LIMIT = 5000
/**
 * How long (ms) Slack's answers are cached, including refusals: the bot may be invited to a channel
 * or get a scope later.
 */
const KNOWN_FOR = 600_000
const REFUSED_FOR = 60_000
const RETRY = 700

/**
 * `name` is valid until `until`, and empty if Slack has none for us. `asked` ends after the pause
 * that follows a failure, so that many callers cause one request.
 */
type Entry = { name?: string; until: number; asked?: Promise<void> }

/**
 * Caches names by id, the most recently used. Never throws. A temporary failure (rate limit, error,
 * no response) is retried for `patience` ms; then the name is undefined. A permanent refusal
 * (missing scope, unknown id) gives an empty name. An expired name is returned while it is being
 * refreshed.
 */
export function createDirectory(api: SlackApi, { now, log }: TransportDeps) {
  const entries = new Map<string, Entry>()

  const lookUp = async (id: string, patience: number, ask: () => Promise<string | undefined>) => {
    const entry = entries.get(id) ?? { until: 0 }
    putLast(entries, id, entry, LIMIT)
    for (let late: AbortSignal | undefined; entry.until <= now() && !late?.aborted; ) {
      entry.asked ??= askOnce(entry, ask)
      if (entry.name) break
      late ??= AbortSignal.timeout(patience)
      await inTime(entry.asked, late)
    }
    return entry.name
  }

  const askOnce = async (entry: Entry, ask: () => Promise<string | undefined>): Promise<void> => {
    try {
      Object.assign(entry, { name: (await ask()) ?? '', until: now() + KNOWN_FOR })
    } catch (error) {
      const { kind, reason } = slackFailure(error)
      log.debug({ reason }, 'a name could not be looked up')
      if (kind === 'rejected') Object.assign(entry, { name: '', until: now() + REFUSED_FOR })
      else await pause(RETRY)
    }
    delete entry.asked
  }

  return {
    /** The name of a channel, user or user group, according to the id. */
    nameOf: (id: string, patience: number) =>
      lookUp(id, patience, async () => {
        if (id.startsWith('S')) {
          const { usergroups = [] } = await api.usergroups.list({ include_disabled: true })
          return usergroups.find((group) => group.id === id)?.handle
        }
        if (/^[CGD]/.test(id)) return (await api.conversations.info({ channel: id })).channel?.name
        const { profile, real_name, name } = (await api.users.info({ user: id })).user ?? {}
        return profile?.display_name || profile?.real_name || real_name || name
      }),
    /** The thread of a message; empty if it is in none. */
    threadOf: (channel: string, ts: string, patience: number) =>
      lookUp(`${channel}/${ts}`, patience, async () => {
        const { messages } = await api.conversations.replies({ channel, ts, limit: 1 })
        return messages?.[0]?.thread_ts
      }),
  }
}
