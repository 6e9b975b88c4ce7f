import type { WebClient } from '@slack/web-api'
import type { Log } from '../../src/core/log.ts'
import { backoff } from '../../src/lib/backoff.ts'
import { inTime, pause } from '../../src/lib/pause.ts'
import { putLast } from '../../src/lib/put-last.ts'
import type { SlackApi } from './api.ts'
import { slackFailure } from './failure.ts'

/**
 * Names for ids, of which the last used are remembered. Nothing here throws. What Slack cannot tell at the moment (a
 * rate limit, trouble, no answer) is asked for again until `late` aborts, and is undefined then. What it will not tell (a
 * missing scope, an unknown id) is known to have no name. An old name is given while a new one is asked for.
 */
export type Directory = {
  /** `late` is called only where Slack has to be asked. */
  find(kind: 'user' | 'channel', id: string, late: () => AbortSignal): Promise<Known | undefined>
  /** The thread that a message is part of; no name where it is in none. */
  threadOf(channel: string, ts: string, late: () => AbortSignal): Promise<Known | undefined>
}

/** What Slack answered: a name, or that it has none for us. */
export type Known = { name: string | undefined }

/** `asked` ends after the pause that follows a failure: so many who wait ask once. */
type Entry = { known?: Known; until: number; failures: number; asked?: Promise<void> }

type Question = (web: WebClient) => Promise<string | undefined>

const LIMIT = 5000
const KNOWN_FOR = 3_600_000
/** What Slack would not tell is asked for again soon, but not for every message. */
const UNKNOWN_FOR = 60_000
const BACKOFF = { first: 250, longest: 4000 }

export function createDirectory({ api, now, log }: { api: SlackApi; now(): number; log: Log }): Directory {
  const entries = new Map<string, Entry>()

  /** `method`: what Slack counts against a limit. */
  const lookUp = async (method: string, id: string, ask: Question, late: () => AbortSignal) => {
    const key = `${method}/${id}`
    const entry = entries.get(key) ?? { until: 0, failures: 0 }
    putLast(entries, key, entry, LIMIT)
    for (let signal: AbortSignal | undefined; ; ) {
      const { known, until } = entry
      if (known && until > now()) return known
      entry.asked ??= askOnce(entry, method, ask)
      if (known?.name !== undefined) return known
      signal ??= late()
      await inTime(entry.asked, signal)
      if (signal.aborted) return entry.known
    }
  }

  const askOnce = async (entry: Entry, method: string, ask: Question): Promise<void> => {
    const learn = (name: string | undefined) => {
      entry.known = { name }
      entry.until = now() + (name === undefined ? UNKNOWN_FOR : KNOWN_FOR)
      entry.failures = 0
    }
    try {
      learn(await api.call(method, ask))
    } catch (error) {
      const { kind, reason } = slackFailure(error)
      log.debug({ method, reason }, 'a name could not be looked up')
      if (kind === 'rejected') learn(undefined)
      else await pause(backoff(++entry.failures, BACKOFF))
    }
    delete entry.asked
  }

  return {
    find: (kind, id, late) =>
      kind === 'user'
        ? lookUp('users.info', id, (web) => userName(web, id), late)
        : lookUp('conversations.info', id, (web) => channelName(web, id), late),
    threadOf: (channel, ts, late) =>
      lookUp('conversations.replies', `${channel}/${ts}`, (web) => threadOf(web, channel, ts), late),
  }
}

async function userName(web: WebClient, user: string): Promise<string | undefined> {
  const { profile, real_name, name } = (await web.users.info({ user })).user ?? {}
  return profile?.display_name || profile?.real_name || real_name || name
}

async function channelName(web: WebClient, channel: string): Promise<string | undefined> {
  return (await web.conversations.info({ channel })).channel?.name
}

async function threadOf(web: WebClient, channel: string, ts: string): Promise<string | undefined> {
  const { messages } = await web.conversations.replies({ channel, ts, limit: 1 })
  return messages?.[0]?.thread_ts
}
