import { invoke } from './api.js'
import { ANY, isFrom, partsOf } from './person-identity.js'
import { quoted } from './suggest.js'

/** The filter for messages of an identity. It also finds other senders with this part in their name. */
function filterOf(identity) {
  const { gateway, name } = partsOf(identity)
  return { sender: name, ...(gateway !== ANY && { gateway }) }
}

/** The search words for messages of an identity: a search takes one sender. */
export function searchOf(identity) {
  const { gateway, name } = partsOf(identity)
  return `${gateway === ANY ? '' : `gateway:${quoted(gateway)} `}from:${quoted(name)}`
}

/** How long (ms) a person's messages are searched: a call reads a part of the journal. */
const SEARCH_TIME = 4_000

/**
 * Reads `operation` for each identity, until there are `limit` results, and returns what is from the
 * person, newest first. `list`: the name of the list in the result. `isCut`: there may be more.
 */
export async function readOf(who, operation, list, { limit, ...more }, signal) {
  const deadline = performance.now() + SEARCH_TIME
  const readAll = async (identity) => {
    const found = []
    let next
    do {
      const args = { ...filterOf(identity), ...more, limit, ...(next && { before: next }) }
      const page = await invoke(operation, args, signal)
      found.push(...page[list].filter((each) => isFrom(each, who)))
      next = page.next
    } while (next && found.length < limit && performance.now() < deadline)
    return { found, isCut: next !== undefined }
  }
  const read = await Promise.all(who.map(readAll))
  const all = new Map(read.flatMap(({ found }) => found).map((each) => [each.id, each]))
  return {
    found: [...all.values()].toSorted((a, b) => b.at - a.at),
    isCut: read.some(({ isCut }) => isCut),
  }
}
