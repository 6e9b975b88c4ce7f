import type { WebClient } from '@slack/web-api'
import type { Log } from '../../src/core/log.ts'
import { backoff } from '../../src/lib/backoff.ts'
import { inTime, pause } from '../../src/lib/pause.ts'
import type { SlackApi } from './api.ts'
import { slackFailure } from './failure.ts'

/**
 * Names for ids, from a cache with a limit. Nothing here throws. What Slack cannot tell at the moment (a rate limit,
 * trouble, no answer) is asked for again until `late` aborts, and is undefined then; what it will not tell (a missing
 * scope, an unknown id) is known to have no name, and the id has to do. A name that was known once is never forgotten
 * because Slack is in trouble: the old one is given while a new one is asked for.
 */
export type Directory = {
  user(id: string, late: AbortSignal): Promise<Known | undefined>
  channel(id: string, late: AbortSignal): Promise<Known | undefined>
  /** What is known of a user or channel without waiting; undefined: it has to be asked for. */
  known(kind: 'user' | 'channel', id: string): Known | undefined
  /** The thread that a message is part of; no name where it is in none. */
  threadOf(channel: string, ts: string, late: AbortSignal): Promise<Known | undefined>
}

/** What Slack answered: a name, or that it has none for us. */
export type Known = { name: string | undefined }

/** `asked` ends after the pause that follows a failure: so many who wait ask once. */
type Entry = { known?: Known; until: number; failures: number; asked?: Promise<void> }

/** How Slack is asked: the method, under whose rate limit it counts, and its call. */
type Question = { method: string; ask(web: WebClient): Promise<string | undefined> }

const KNOWN_FOR = 3_600_000
/** What Slack would not tell is asked for again soon, but not for every message. */
const UNKNOWN_FOR = 60_000
const BACKOFF = { first: 250, longest: 4000 }

export function createDirectory(options: {
  api: SlackApi
  limit: number
  now(): number
  log: Log
}): Directory {
  const { api, now, log } = options
  const entries = new Map<string, Entry>()

  const lookUp = async (key: string, question: Question, late: AbortSignal): Promise<Known | undefined> => {
    const entry = entries.get(key) ?? { until: 0, failures: 0 }
    // The longest unused goes first.
    entries.delete(key)
    entries.set(key, entry)
    const [oldest] = entries.keys()
    if (entries.size > options.limit && oldest !== undefined) entries.delete(oldest)
    for (;;) {
      const found = usable(entry, question)
      if (found || late.aborted) return found
      await inTime(ask(entry, question), late)
    }
  }

  /** What may be said at once. An old name is: it is asked for anew meanwhile. */
  const usable = (entry: Entry, question: Question): Known | undefined => {
    const { known, until } = entry
    if (!known || until > now()) return known
    if (known.name === undefined) return undefined
    void ask(entry, question)
    return known
  }

  const ask = (entry: Entry, question: Question): Promise<void> => {
    entry.asked ??= askOnce(entry, question).finally(() => {
      delete entry.asked
    })
    return entry.asked
  }

  const askOnce = async (entry: Entry, { method, ask }: Question): Promise<void> => {
    try {
      learn(entry, await api.call(method, ask))
    } catch (error) {
      const { kind, reason } = slackFailure(error)
      log.debug({ method, reason }, 'a name could not be looked up')
      if (kind === 'rejected') return learn(entry, undefined)
      await pause(backoff(++entry.failures, BACKOFF))
    }
  }

  const learn = (entry: Entry, name: string | undefined) => {
    entry.known = { name }
    entry.until = now() + (name === undefined ? UNKNOWN_FOR : KNOWN_FOR)
    entry.failures = 0
  }

  return {
    known(kind, id) {
      const entry = entries.get(`${kind}/${id}`)
      return entry && usable(entry, kind === 'user' ? user(id) : channel(id))
    },
    user: (id, late) => lookUp(`user/${id}`, user(id), late),
    channel: (id, late) => lookUp(`channel/${id}`, channel(id), late),
    threadOf: (channel, ts, late) => lookUp(`thread/${channel}/${ts}`, thread(channel, ts), late),
  }
}

function user(id: string): Question {
  return {
    method: 'users.info',
    async ask(web) {
      const { profile, real_name, name } = (await web.users.info({ user: id })).user ?? {}
      return profile?.display_name || profile?.real_name || real_name || name
    },
  }
}

function channel(id: string): Question {
  return {
    method: 'conversations.info',
    ask: async (web) => (await web.conversations.info({ channel: id })).channel?.name,
  }
}

function thread(channel: string, ts: string): Question {
  return {
    method: 'conversations.replies',
    async ask(web) {
      const { messages } = await web.conversations.replies({ channel, ts, limit: 1 })
      return messages?.[0]?.thread_ts
    },
  }
}
