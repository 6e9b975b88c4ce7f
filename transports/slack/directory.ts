import type { WebClient } from '@slack/web-api'
import type { Log } from '../../src/core/log.ts'
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
  known(kind: Kind, id: string): Known | undefined
  /** The thread that a message is part of; no name where it is in none. */
  threadOf(channel: string, ts: string, late: AbortSignal): Promise<Known | undefined>
}

/** What Slack answered: a name, or that it has none for us. */
export type Known = { name: string | undefined }

type Kind = 'user' | 'channel'

/** `known` is there once Slack has answered, so that a known name costs neither a timer nor a turn. */
type Entry = { known?: Known; until: number; asked?: Promise<void> }

/** How Slack is asked: the method, under whose rate limit it counts, and its call. Undefined: over that limit. */
type Question = { method: string; ask(web: WebClient): Promise<string | undefined> }

const KNOWN_FOR = 3_600_000
/** What Slack would not tell is asked for again soon, but not for every message. */
const UNKNOWN_FOR = 60_000
/** While Slack is in trouble a flood of messages must not become a flood of calls. */
const REST = { first: 250, longest: 4000 }
const MAX_ASKING = 20
const NEXT = 100

export function createDirectory(options: {
  api: SlackApi
  limit: number
  now(): number
  log: Log
}): Directory {
  const { api, now } = options
  const entries = new Map<string, Entry>()
  /** The methods that failed last, how often in a row, and until when they are left alone. */
  const troubled = new Map<string, { failures: number; until: number }>()
  let asking = 0

  const lookUp = async (key: string, question: Question, late: AbortSignal): Promise<Known | undefined> => {
    const entry = entries.get(key) ?? { until: 0 }
    keep(key, entry)
    for (;;) {
      const found = usable(key, entry, () => question)
      if (found || late.aborted) return found
      const wait = restOf(question.method)
      await (wait > 0 ? pause(wait, late) : inTime(ask(key, entry, question), late))
    }
  }

  /** What may be said at once. An old name is: it is asked for anew meanwhile. */
  const usable = (key: string, entry: Entry, question: () => Question): Known | undefined => {
    const { known, until } = entry
    if (!known || until > now()) return known
    if (known.name === undefined) return undefined
    const asked = question()
    if (restOf(asked.method) === 0) void ask(key, entry, asked)
    return known
  }

  const keep = (key: string, entry: Entry) => {
    entries.delete(key)
    entries.set(key, entry)
    const [oldest] = entries.keys()
    if (entries.size > options.limit && oldest !== undefined) entries.delete(oldest)
  }

  /** Never rejects. One call answers all who ask meanwhile. */
  const ask = (key: string, entry: Entry, question: Question): Promise<void> => {
    entry.asked ??= put(key, entry, question).finally(() => {
      asking--
      delete entry.asked
    })
    return entry.asked
  }

  const put = async (key: string, entry: Entry, { method, ask }: Question): Promise<void> => {
    asking++
    try {
      const answer = await api.tryCall(method, async (web) => ({ name: await ask(web) }))
      if (!answer) return trouble(method)
      troubled.delete(method)
      learn(entry, answer)
    } catch (error) {
      const failure = slackFailure(error)
      options.log.debug({ key, reason: failure.reason }, 'a name could not be looked up')
      if (failure.kind === 'rejected') learn(entry, { name: undefined })
      else trouble(method)
    }
  }

  const learn = (entry: Entry, known: Known) => {
    entry.known = known
    entry.until = now() + (known.name === undefined ? UNKNOWN_FOR : KNOWN_FOR)
  }

  const trouble = (method: string) => {
    const failures = (troubled.get(method)?.failures ?? 0) + 1
    const wait = Math.min(REST.longest, REST.first * 2 ** (failures - 1))
    troubled.set(method, { failures, until: now() + wait })
  }

  const restOf = (method: string): number => {
    const wait = Math.max(0, (troubled.get(method)?.until ?? 0) - now())
    return wait === 0 && asking >= MAX_ASKING ? NEXT : wait
  }

  return {
    known(kind, id) {
      const key = `${kind}/${id}`
      const entry = entries.get(key)
      return entry && usable(key, entry, () => QUESTIONS[kind](id))
    },
    user: (id, late) => lookUp(`user/${id}`, QUESTIONS.user(id), late),
    channel: (id, late) => lookUp(`channel/${id}`, QUESTIONS.channel(id), late),
    threadOf: (channel, ts, late) => lookUp(`thread/${channel}/${ts}`, threadQuestion(channel, ts), late),
  }
}

const QUESTIONS: Record<Kind, (id: string) => Question> = {
  user: (id) => ({
    method: 'users.info',
    async ask(web) {
      const { profile, real_name, name } = (await web.users.info({ user: id })).user ?? {}
      return profile?.display_name || profile?.real_name || real_name || name
    },
  }),
  channel: (id) => ({
    method: 'conversations.info',
    ask: async (web) => (await web.conversations.info({ channel: id })).channel?.name,
  }),
}

function threadQuestion(channel: string, ts: string): Question {
  return {
    method: 'conversations.replies',
    async ask(web) {
      const { messages } = await web.conversations.replies({ channel, ts, limit: 1 })
      return messages?.[0]?.thread_ts
    },
  }
}
