import { partsOf } from '../../core/identity.ts'
import type { Message } from '../../core/message.ts'
import { timeOf } from '../../core/message-id.ts'
import type { Outcome } from '../../core/message-query.ts'
import type { Store } from '../../core/store.ts'
import { type MessageRow, rowOf } from '../../engine/search.ts'
import { UNFINISHED } from '../../lib/outcomes.ts'
import { ANY_GATEWAY, createIdentities } from './person.ts'

/**
 * The messages of others that have a name of the person in their text. `done`: whether all were
 * searched, otherwise those since `searchedTo` (Unix ms). `open`: those that wait or failed.
 */
export type Mentions = {
  names: string[]
  messages: number
  done: boolean
  searchedTo?: number
  open: { count: number; newest: MessageRow[] }
}

/** The messages themselves, newest first. */
export type FoundMentions = Omit<Mentions, 'messages' | 'open'> & { found: Found[] }
type Found = { message: Message; outcome: Outcome }

export type MentionedPerson = { identities: readonly string[]; messages: ReadonlySet<string> }

const PAGE_SIZE = 200
/** Maximum number of messages that are found. */
const MAX_FOUND = 500
/** How long (ms) messages are searched. */
const SEARCH_TIME = 10_000
/** Number of open messages that are shown one by one. */
const SHOWN_OPEN = 5

const OPEN: ReadonlySet<Outcome> = new Set(UNFINISHED)

/** Counts the messages of others that name a person; see `findMentions`. */
export async function mentionsOf(...args: Parameters<typeof findMentions>): Promise<Mentions> {
  const { found, ...rest } = await findMentions(...args)
  const open = found.filter(({ outcome }) => OPEN.has(outcome))
  const newest = open.slice(0, SHOWN_OPEN).map(({ message, outcome }) => rowOf(message, outcome))
  return { ...rest, messages: found.length, open: { count: open.length, newest } }
}

/**
 * Searches the texts of all messages for the names of a person, newest first. Attachments, headers
 * and other spellings are not searched.
 */
export async function findMentions(
  journal: Pick<Store['journal'], 'search'>,
  person: MentionedPerson,
  isCaseless: (gateway: string) => boolean,
  signal: AbortSignal,
): Promise<FoundMentions> {
  const names = [...new Set(person.identities.map((identity) => partsOf(identity).name))]
  const who = createIdentities(person.identities.map(everywhere), isCaseless)
  const deadline = performance.now() + SEARCH_TIME
  const found = new Map<string, Found>()
  /** Resolves with the time from which on all was searched; undefined if that is everything. */
  const search = async (text: string): Promise<number | undefined> => {
    let before: string | undefined
    do {
      signal.throwIfAborted()
      const page = await journal.search({ text, before, limit: PAGE_SIZE })
      for (const each of page.found)
        if (!person.messages.has(each.message.id) && !who.isSender(each.message))
          found.set(each.message.id, each)
      before = page.next
      if (before !== undefined && (found.size >= MAX_FOUND || performance.now() > deadline))
        return timeOf(before)
    } while (before !== undefined)
    return undefined
  }
  const ends: number[] = []
  for (const name of names) {
    const end = await search(name)
    if (end !== undefined) ends.push(end)
  }
  const isCut = ends.length > 0
  const newestFirst = [...found.values()].sort((a, b) => (a.message.id < b.message.id ? 1 : -1))
  return { names, done: !isCut, ...(isCut && { searchedTo: Math.max(...ends) }), found: newestFirst }
}

/** The same address on every gateway is the same person. */
function everywhere(identity: string): string {
  const { name, external } = partsOf(identity)
  return name.includes('@') && !external ? `${ANY_GATEWAY}:${name}` : identity
}
