import { partsOf } from '../../core/identity.ts'
import { timeOf } from '../../core/message-id.ts'
import type { Store } from '../../core/store.ts'
import { ANY_GATEWAY, createIdentities } from './person.ts'
import type { Subject } from './place.ts'

/**
 * The messages of others that have a name of the person in their text. `done`: whether all were
 * searched, otherwise those since `searchedTo` (Unix ms).
 */
export type Mentions = {
  names: string[]
  messages: number
  done: boolean
  searchedTo?: number
}

const PAGE_SIZE = 200
/** Maximum number of messages that are counted. */
const MAX_FOUND = 500
/** How long (ms) messages are searched. */
const SEARCH_TIME = 10_000

/**
 * Searches the texts of all messages for the names of a person, newest first. Attachments, headers
 * and other spellings are not searched.
 */
export async function mentionsOf(
  journal: Pick<Store['journal'], 'search'>,
  { person }: Subject,
  isCaseless: (gateway: string) => boolean,
  signal: AbortSignal,
): Promise<Mentions> {
  const names = [...new Set(person.identities.map((identity) => partsOf(identity).name))]
  const who = createIdentities(person.identities.map(everywhere), isCaseless)
  const deadline = performance.now() + SEARCH_TIME
  const found = new Set<string>()
  /** Resolves with the time from which on all was searched; undefined if that is everything. */
  const search = async (text: string): Promise<number | undefined> => {
    let before: string | undefined
    do {
      signal.throwIfAborted()
      const page = await journal.search({ text, before, limit: PAGE_SIZE })
      for (const { message } of page.found)
        if (!person.messages.has(message.id) && !who.isSender(message)) found.add(message.id)
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
  return { names, messages: found.size, done: !isCut, ...(isCut && { searchedTo: Math.max(...ends) }) }
}

/** The same address on every gateway is the same person. */
function everywhere(identity: string): string {
  const { name, external } = partsOf(identity)
  return name.includes('@') && !external ? `${ANY_GATEWAY}:${name}` : identity
}
