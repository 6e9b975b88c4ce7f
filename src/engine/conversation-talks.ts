import type { Message } from '../core/message.ts'
import type { FoundMessages, MessageSearch, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { MOST_READ } from './unanswered.ts'

export type Found = FoundMessages['found'][number]

/**
 * The messages of a conversation that a search found. `messages`: newest first, up to `MOST_READ`.
 * `count`: how many it has in all. `older`: ids of messages before them, newest first.
 */
export type Talk = { messages: [Found, ...Found[]]; count: number; older: readonly string[] }

/**
 * The conversations that one call has seen. `take` adds a message; false if it begins one more than
 * `most` since the last `newTalks`. Of those that are left out, only the names are kept.
 */
export function createKnownTalks(most: number, isLeftOut: (message: Message) => boolean) {
  const known = new Map<string, Talk | undefined>()
  let begun: Talk[] = []
  return {
    take(one: Found): boolean {
      const key = talkKey(one.message)
      if (isLeftOut(one.message)) return true
      const talk = known.get(key)
      if (talk) addTo(talk, one)
      if (known.has(key)) return true
      if (begun.length >= most) return false
      const opened = openTalk(one)
      known.set(key, opened)
      begun.push(opened)
      return true
    },
    newTalks(): Talk[] {
      const talks = begun
      begun = []
      return talks
    },
    leaveOut({ messages: [{ message }] }: Talk): void {
      known.set(talkKey(message), undefined)
    },
  }
}

/** Identifies a conversation. */
export function talkKey({ gateway, conversation }: Pick<Message, 'gateway' | 'conversation'>): string {
  return JSON.stringify([gateway, conversation])
}

/** Makes a conversation from a single message. */
export function openTalk(newest: Found): Talk {
  return { messages: [newest], count: 1, older: [] }
}

/** The id of the newest message that was found. */
export function idOf({ messages: [newest] }: Talk): string {
  return newest.message.id
}

/** Adds an older message. */
function addTo(talk: Talk, older: Found): void {
  talk.count++
  if (talk.messages.length < MOST_READ) talk.messages.push(older)
}

/** What `MessageSearch` has besides a filter for the content, outcome or time of messages. */
const PLACES: ReadonlySet<string> = new Set(['gateways', 'conversation', 'before', 'limit', 'isPartial'])

/** Whether a search may leave out some messages of the conversations that it finds. */
export function isNarrow(search: MessageSearch): boolean {
  return Object.keys(defined({ ...search })).some((key) => !PLACES.has(key))
}

/** The conversations again, with the newest messages that were found and nothing before them. */
export function newestOf(talks: readonly Talk[]): Talk[] {
  return talks.map(({ messages: [newest] }) => openTalk(newest))
}

/**
 * Makes a function that reads the next messages of a list of ids: none at its end, or after one
 * that cannot be reached. Those that were removed are left out.
 */
export function createNextFound(
  { get, outcomesIfReachable }: Pick<Store['journal'], 'get' | 'outcomesIfReachable'>,
  ids: readonly string[],
) {
  let rest = ids
  return async (size: number): Promise<Found[]> => {
    let found: Found[] = []
    while (rest.length > 0 && found.length === 0) {
      const wanted = rest.slice(0, size)
      const outcomes = await outcomesIfReachable(wanted)
      const messages = await Promise.all(
        wanted.map(async (id, index) => {
          const outcome = outcomes[index]
          if (outcome === undefined || outcome === 'unreachable') return undefined
          const message = await get(id)
          return message && { message, outcome }
        }),
      )
      found = messages.filter((one) => one !== undefined)
      rest = outcomes.includes('unreachable') ? [] : rest.slice(size)
    }
    return found
  }
}

/**
 * Passes the matches of a search to `take`, newest first, until it returns false or the time (ms)
 * is over. Returns where to continue, undefined at the end, and the shards that could not be
 * reached.
 */
export async function collect(
  journal: Pick<Store['journal'], 'search'>,
  search: MessageSearch,
  time: number,
  take: (one: Found) => boolean,
) {
  const deadline = performance.now() + time
  let { before } = search
  let missing: number[] | undefined
  do {
    const { found, next, away } = await journal.search({ ...search, before, isPartial: true })
    missing = away ?? missing
    for (const one of found) {
      if (!take(one)) return { next: before, away: missing }
      before = one.message.id
    }
    before = next
  } while (before !== undefined && performance.now() < deadline)
  return { next: before, away: missing }
}
