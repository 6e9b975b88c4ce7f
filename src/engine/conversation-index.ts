import { hash, randomUUID } from 'node:crypto'
import type { Message } from '../core/message.ts'
import { timeOf } from '../core/message-id.ts'
import type { MessageSearch, Store } from '../core/store.ts'
import { collect, type Found, type Talk, talkKey } from './conversation-talks.ts'
import { MOST_READ } from './unanswered.ts'

type Searchable = Pick<Store['journal'], 'search'>
type Conversation = Pick<Message, 'gateway' | 'conversation'>

/**
 * The messages of conversations, as far as they are known. `older`: how many of a conversation are
 * before an id, and the newest `MOST_READ` ids of these, newest first. Messages that were removed
 * meanwhile may be among them. `begin`: messages before this id are not known; undefined if all are.
 */
export type KnownMessages = {
  older(of: Conversation, before: string): { count: number; ids: string[] }
  begin: string | undefined
}

/** `idsOf`: ids by conversation, oldest first. Messages after `newest` are not known yet. */
type Index = {
  gateways: readonly string[] | undefined
  idsOf: Map<string, string[]>
  size: number
  newest: string
  begin: string | undefined
  isComplete: boolean
}

/** Maximum number of messages when an index is made. */
const MOST_INDEXED = 50_000
/** With this many messages an index is made again. */
const LARGEST = 75_000
/** Time (ms) until an index is dropped: retention and erasures remove messages. */
const MAX_AGE = 600_000
/** Number of messages per read of the journal. */
const PER_READ = 1_000
/** Approximate duration (ms) of reading older messages in one call. */
const READ_TIME = 500
/** Time (ms) that is read again, since the clocks of shards differ. */
const OVERLAP = 2_000
/** Makes the hashes of conversations useless elsewhere. */
const SALT = randomUUID()

/**
 * Makes an index of the conversations on some gateways (undefined: all), in memory and only while
 * it is used. Stores cannot find the messages of a conversation without scanning the journal, so
 * the calls that follow one another share one scan. The function returns what is known of the
 * messages up to an id. The first call reads as much of the journal as its time allows, and the
 * next ones continue until the index is complete. After that, a call reads only if the id is after
 * all that is known.
 */
export function createConversationIndex(
  journal: Searchable,
  gatewaysOf: () => readonly string[] | undefined,
): (upTo: string) => Promise<KnownMessages> {
  let current: Index | undefined
  let updating: Promise<Index> | undefined
  let end: NodeJS.Timeout | undefined

  function begin(): Index {
    const index = emptyIndex(gatewaysOf())
    current = index
    clearTimeout(end)
    end = setTimeout(() => drop(index), MAX_AGE).unref()
    return index
  }
  function drop(index: Index) {
    if (current === index) current = undefined
  }
  async function update(upTo: string): Promise<Index> {
    const kept = current && isUsable(current, gatewaysOf()) ? current : begin()
    const isKnown = upTo <= kept.newest || kept.newest === ''
    const followed = isKnown ? { isWhole: true, away: undefined } : await follow(journal, kept)
    const index = followed.isWhole ? kept : begin()
    const { away } = await extend(journal, index)
    // Otherwise the messages of the unreachable shards would be missing afterwards.
    if (away ?? followed.away) drop(index)
    return index
  }
  function shared(upTo: string): Promise<Index> {
    updating ??= update(upTo).finally(() => {
      updating = undefined
    })
    return updating
  }

  return async (upTo) => {
    let index = await shared(upTo)
    // It was updated for another call, whose id was older.
    if (index.newest < upTo) index = await shared(upTo)
    const { idsOf, isComplete } = index
    return {
      begin: isComplete ? undefined : index.begin,
      older: (of, before) => {
        const ids = idsOf.get(keyOf(of)) ?? []
        const count = ids.findLastIndex((id) => id < before) + 1
        return { count, ids: ids.slice(Math.max(0, count - MOST_READ), count).reverse() }
      },
    }
  }
}

/**
 * Adds the older messages of conversations: those before an id. Returns the time (Unix ms) before
 * which messages are not known; undefined if all are.
 */
export async function addOlder(
  read: (upTo: string) => Promise<KnownMessages>,
  talks: readonly Talk[],
  before: string,
): Promise<number | undefined> {
  const { older, begin } = await read(before)
  for (const talk of talks) {
    const [{ message }] = talk.messages
    const { count, ids } = older(message, before < message.id ? before : message.id)
    talk.count += count
    talk.older = ids.slice(0, MOST_READ - talk.messages.length)
  }
  return begin === undefined ? undefined : timeOf(begin < before ? begin : before)
}

function emptyIndex(gateways: readonly string[] | undefined): Index {
  return { gateways, idsOf: new Map(), size: 0, newest: '', begin: undefined, isComplete: false }
}

function isUsable({ gateways, size }: Index, wanted: readonly string[] | undefined): boolean {
  return size < LARGEST && JSON.stringify(gateways) === JSON.stringify(wanted)
}

/** Adds the messages after `newest`. `isWhole` is false if there are too many. */
async function follow(journal: Searchable, index: Index) {
  const since = Math.max(0, timeOf(index.newest) - OVERLAP)
  const { ids, next, away } = await read(journal, index, { since }, LARGEST)
  if (next !== undefined) return { isWhole: false, away }
  for (const [key, found] of ids) {
    const known = index.idsOf.get(key) ?? []
    index.idsOf.set(key, known)
    for (const id of found.reverse()) if (insert(known, id)) index.size++
    index.newest = maxOf(index.newest, known.at(-1))
  }
  return { isWhole: true, away }
}

/** Adds older messages, until all are known or there are `MOST_INDEXED`. */
async function extend(journal: Searchable, index: Index) {
  if (index.isComplete || index.size >= MOST_INDEXED) return { away: undefined }
  const { ids, count, next, away } = await read(
    journal,
    index,
    { before: index.begin },
    MOST_INDEXED - index.size,
  )
  for (const [key, found] of ids) {
    index.newest = maxOf(index.newest, found[0])
    index.idsOf.set(key, [...found.reverse(), ...(index.idsOf.get(key) ?? [])])
  }
  index.size += count
  index.begin = next
  index.isComplete = next === undefined
  return { away }
}

/** The ids of up to `most` messages by conversation, newest first. */
async function read(
  journal: Searchable,
  { gateways }: Index,
  part: Pick<MessageSearch, 'since' | 'before'>,
  most: number,
) {
  const ids = new Map<string, string[]>()
  let count = 0
  const take = ({ message }: Found) => {
    if (count >= most) return false
    count++
    const key = keyOf(message)
    const known = ids.get(key)
    if (known) known.push(message.id)
    else ids.set(key, [message.id])
    return true
  }
  return { ...(await collect(journal, { ...part, gateways, limit: PER_READ }, READ_TIME, take)), ids, count }
}

/** Adds an id in its place, near the end; false if it is there. */
function insert(ids: string[], id: string): boolean {
  const after = ids.findLastIndex((known) => known <= id)
  if (ids[after] === id) return false
  ids.splice(after + 1, 0, id)
  return true
}

/** Identifies a conversation. Its name is not kept: it may be an address that is erased meanwhile. */
function keyOf(of: Conversation): string {
  return hash('sha256', `${SALT}${talkKey(of)}`, 'base64')
}

function maxOf(one: string, other = ''): string {
  return one > other ? one : other
}
