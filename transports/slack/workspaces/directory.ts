import type { TransportDeps } from '../../../src/core/transport.ts'
import { MINUTE } from '../../../src/core/units.ts'
import { inTime, pause } from '../../../src/lib/pause.ts'
import { putLast } from '../../../src/lib/put-last.ts'
import { type SlackApi, slackFailure } from '../api.ts'

const MAX_ENTRIES = 5_000
/** How long names are cached. */
const NAME_TTL_MS = 10 * MINUTE
/** How long refusals are cached: the bot may be invited to a channel or get a scope later. */
const REFUSAL_TTL_MS = MINUTE
/** Pause after a temporary failure. */
const RETRY_MS = 700

/**
 * `value` (a name, or the `ts` of a thread) is valid until `until` (Unix ms), and empty if Slack
 * refuses it. `request` includes the pause after a failure, so that callers during the pause do not
 * cause another request.
 */
type Entry = { value?: string; until: number; request?: Promise<void> }

/**
 * Caches names by id, the most recently used. Never throws. A temporary failure (rate limit, error,
 * no response) is retried for `timeout` ms; then the name is undefined. A permanent refusal
 * (missing scope, unknown id) gives an empty name. An expired name is returned while it is being
 * refreshed.
 */
export function createDirectory(api: SlackApi, { now, log }: TransportDeps) {
  const entries = new Map<string, Entry>()

  const lookUp = async (id: string, timeout: number, ask: () => Promise<string | undefined>) => {
    const entry = entries.get(id) ?? { until: 0 }
    putLast(entries, id, entry, MAX_ENTRIES)
    let late: AbortSignal | undefined
    while (entry.until <= now() && !late?.aborted) {
      entry.request ??= askOnce(entry, ask)
      if (entry.value) break
      // The signal is made only here, because most names are cached.
      late ??= AbortSignal.timeout(timeout)
      await inTime(entry.request, late)
    }
    return entry.value
  }

  const askOnce = async (entry: Entry, ask: () => Promise<string | undefined>): Promise<void> => {
    try {
      Object.assign(entry, { value: (await ask()) ?? '', until: now() + NAME_TTL_MS })
    } catch (error) {
      const { kind, reason } = slackFailure(error)
      log.debug({ reason }, 'a name could not be looked up')
      if (kind === 'rejected') Object.assign(entry, { value: '', until: now() + REFUSAL_TTL_MS })
      else await pause(RETRY_MS)
    }
    delete entry.request
  }

  return {
    /** The name of a channel, user or user group, according to the id. */
    nameOf: (id: string, timeout: number) =>
      lookUp(id, timeout, async () => {
        if (id.startsWith('S')) {
          const { usergroups = [] } = await api.usergroups.list({ include_disabled: true })
          return usergroups.find((group) => group.id === id)?.handle
        }
        if (/^[CGD]/.test(id)) return (await api.conversations.info({ channel: id })).channel?.name
        const { profile, real_name, name } = (await api.users.info({ user: id })).user ?? {}
        return profile?.display_name || profile?.real_name || real_name || name
      }),
    /** The thread of a message; empty if it is in none. */
    threadOf: (channel: string, ts: string, timeout: number) =>
      lookUp(`${channel}/${ts}`, timeout, async () => {
        const { messages } = await api.conversations.replies({ channel, ts, limit: 1 })
        return messages?.[0]?.thread_ts
      }),
  }
}
