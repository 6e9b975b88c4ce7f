import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../../src/core/log.ts'
import type { SlackApi } from './api.ts'
import { slackFailure } from './failure.ts'

/** Names for ids, from a cache with a limit. Never throws: without a name the id has to do. */
export type Directory = {
  user(id: string): Promise<string | undefined>
  channel(id: string): Promise<string | undefined>
  /** What is known of a user or channel without asking; undefined: it has to be asked for. */
  known(kind: 'user' | 'channel', id: string): Known | undefined
  /** The thread that a message is part of, or its own `ts` where it is in none. */
  threadOf(channel: string, ts: string): Promise<string>
}

/** What Slack answered: a name, or that it has none for us. */
type Known = { name: string | undefined }

/** `known` is there once Slack has answered, so that a known name costs neither a timer nor a turn. */
type Entry = { asked: Promise<string | undefined>; until: number; known?: Known }

/** Slack waits 3 s for the acknowledgement; a name must not use them up. */
const PATIENCE = 1000
const KNOWN_FOR = 3_600_000
/** A name that could not be found is asked for again soon, but not for every message. */
const UNKNOWN_FOR = 60_000

export function createDirectory(options: {
  api: SlackApi
  limit: number
  now(): number
  log: Log
}): Directory {
  const { api, now } = options
  const entries = new Map<string, Entry>()

  const lookUp = async (key: string, fetch: () => Promise<string | undefined>) => {
    const kept = entries.get(key)
    if (kept && kept.until > now()) return kept.known ? kept.known.name : soon(kept.asked)
    const entry: Entry = { asked: ask(key, fetch), until: now() + KNOWN_FOR }
    entries.delete(key)
    entries.set(key, entry)
    const [oldest] = entries.keys()
    if (entries.size > options.limit && oldest !== undefined) entries.delete(oldest)
    return soon(entry.asked)
  }

  const ask = async (key: string, fetch: () => Promise<string | undefined>) => {
    let name: string | undefined
    try {
      name = await fetch()
    } catch (error) {
      options.log.debug({ key, reason: slackFailure(error).reason }, 'a name could not be looked up')
    }
    const entry = entries.get(key)
    if (entry) entry.known = { name }
    if (entry && name === undefined) entry.until = now() + UNKNOWN_FOR
    return name
  }

  return {
    known(kind, id) {
      const kept = entries.get(`${kind}/${id}`)
      return kept && kept.until > now() ? kept.known : undefined
    },
    user: (id) =>
      lookUp(`user/${id}`, async () => {
        const answer = await api.tryCall('users.info', (web) => web.users.info({ user: id }))
        const { profile, real_name, name } = answer?.user ?? {}
        return profile?.display_name || profile?.real_name || real_name || name
      }),
    channel: (id) =>
      lookUp(`channel/${id}`, async () => {
        const answer = await api.tryCall('conversations.info', (web) =>
          web.conversations.info({ channel: id }),
        )
        return answer?.channel?.name
      }),
    async threadOf(channel, ts) {
      const thread = await lookUp(`thread/${channel}/${ts}`, async () => {
        const answer = await api.tryCall('conversations.replies', (web) =>
          web.conversations.replies({ channel, ts, limit: 1 }),
        )
        return answer?.messages?.[0]?.thread_ts
      })
      return thread ?? ts
    },
  }
}

async function soon(value: Promise<string | undefined>): Promise<string | undefined> {
  const patience = new AbortController()
  try {
    return await Promise.race([value, pause(PATIENCE, undefined, { signal: patience.signal, ref: false })])
  } finally {
    patience.abort()
  }
}
