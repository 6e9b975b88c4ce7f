import type { TransportDeps } from '../../../src/core/transport.ts'
import { inTime, pause } from '../../../src/lib/pause.ts'
import { putLast } from '../../../src/lib/put-last.ts'
import { type SlackApi, slackFailure } from '../api.ts'

const LIMIT = 5000
/** How long is known what Slack told, and that it refused to: the bot may be invited to the channel, or get the scope. */
const KNOWN_FOR = 600_000
const REFUSED_FOR = 60_000
const RETRY = 700

/**
 * `name` until `until`, empty where Slack has none for us. `asked` ends after the pause that follows a failure: so many who
 * wait ask once.
 */
type Entry = { name?: string; until: number; asked?: Promise<void> }

/**
 * Names for ids, of which the last used are remembered. Nothing here throws. What Slack cannot tell at the moment (a
 * rate limit, trouble, no answer) is asked for again for `patience` ms, and is undefined then. What it will not tell (a
 * missing scope, an unknown id) has an empty name. An old name is given while a new one is asked for.
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
    /** Of a channel, a user or a user group, as their ids say. */
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
    /** The thread that a message is part of; empty where it is in none. */
    threadOf: (channel: string, ts: string, patience: number) =>
      lookUp(`${channel}/${ts}`, patience, async () => {
        const { messages } = await api.conversations.replies({ channel, ts, limit: 1 })
        return messages?.[0]?.thread_ts
      }),
  }
}
