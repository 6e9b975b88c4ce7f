import type { Message } from '../core/message.ts'
import { timeOf } from '../core/message-id.ts'
import type { FoundMessages, MessageSearch, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { MOST_READ } from './unanswered.ts'

export type Found = FoundMessages['found'][number]

/**
 * The messages of a conversation that a search found. `messages`: newest first, up to `MOST_READ`.
 * `count`: how many it found in all.
 */
export type Talk = { messages: [Found, ...Found[]]; count: number }

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
function talkKey({ gateway, conversation }: Pick<Message, 'gateway' | 'conversation'>): string {
  return JSON.stringify([gateway, conversation])
}

function openTalk(newest: Found): Talk {
  return { messages: [newest], count: 1 }
}

/** Adds an older message. */
function addTo(talk: Talk, older: Found): void {
  talk.count++
  if (talk.messages.length < MOST_READ) talk.messages.push(older)
}

/** Number of messages per read of the older part of the journal. */
const OLDER_PAGE = 1_000
/** Approximate duration (ms) of reading older messages. */
const OLDER_TIME = 500

/**
 * Adds the older messages of conversations: those of a search after its `before`. One pass for all,
 * limited in time. Returns the time (Unix ms) to which it got, undefined at the end of the journal.
 */
export async function addOlder(
  journal: Pick<Store['journal'], 'search'>,
  search: MessageSearch,
  talks: readonly Talk[],
): Promise<number | undefined> {
  if (talks.length === 0 || search.before === undefined) return undefined
  const byKey = new Map(talks.map((talk) => [talkKey(talk.messages[0].message), talk]))
  const gateways = [...new Set(talks.map(({ messages: [{ message }] }) => message.gateway))]
  const wanted = { ...search, gateways, limit: OLDER_PAGE }
  const { next } = await collect(journal, wanted, OLDER_TIME, (one) => {
    const talk = byKey.get(talkKey(one.message))
    if (talk && one.message.id < idOf(talk)) addTo(talk, one)
    return true
  })
  return next === undefined ? undefined : timeOf(next)
}

/** What `MessageSearch` has besides a filter for the content, outcome or time of messages. */
const PLACES: ReadonlySet<string> = new Set(['gateways', 'conversation', 'before', 'limit', 'isPartial'])

/** Whether a search may leave out some messages of the conversations that it finds. */
export function isNarrow(search: MessageSearch): boolean {
  return Object.keys(defined({ ...search })).some((key) => !PLACES.has(key))
}

/**
 * The conversations again, with all messages before the newest ones that were found, whatever the
 * search left out. Limited in time as `addOlder`, with the same `searchedTo`.
 */
export async function wholeTalks(journal: Pick<Store['journal'], 'search'>, talks: readonly Talk[]) {
  const whole = talks.map(({ messages: [newest] }) => openTalk(newest))
  const before = whole.map(idOf).sort().at(-1)
  return { whole, searchedTo: await addOlder(journal, { before, limit: OLDER_PAGE }, whole) }
}

function idOf({ messages: [newest] }: Talk): string {
  return newest.message.id
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
