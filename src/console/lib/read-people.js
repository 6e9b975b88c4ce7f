import { useRef, useState } from 'preact/hooks'
import { invoke } from './api.js'
import { useLoaded } from './parts.js'
import { comparable } from './person-identity.js'
import { boundsIn } from './range.js'
import { route } from './router.js'

/** Maximum number of people of a page, and of the messages that it reads. */
const LIMITS = { people: 1_000, messages: 10_000 }
/** The orders in which the daemon can list people, by their name in the address. */
const ORDERS = new Map([
  ['wrote', 'wrote'],
  ['sender', 'name'],
])

/**
 * The people with the words of `search` in their name, address or id; without it, those who wrote
 * last. `people` have `newest`, their newest message, `messages`, the number of theirs, `wrote`, without the
 * events of machines, and `more` if older ones are not counted. `next`: undefined if all messages were read, otherwise those since
 * `searchedTo` (Unix ms) were. `messages`: their number. `total`: the number of people.
 */
export function readPeople({ search, gateway, since, until, sort, before, limit = LIMITS.people }, signal) {
  const args = {
    ...(search && { name: search }),
    ...(gateway && { gateway }),
    ...boundsIn({ since, until }),
    ...(ORDERS.has(sort) && { sort: ORDERS.get(sort) }),
    ...(before && { before }),
    ...{ limit, messages: LIMITS.messages },
  }
  return invoke('person-list', args, signal)
}

/** For a list that stays as it was read. */
const UNFOLLOWED = { turn: 0, paced: (load) => load }

/**
 * `readPeople`, again with each visit of the page and with `arrivals` (see `useArrivals`), and `more`,
 * which reads older messages.
 */
export function usePeople({ search, gateway, since, until, sort }, { turn, paced } = UNFOLLOWED) {
  const known = useRef({})
  // The order only matters if some people are left out.
  const order = known.current.isCut ? sort : undefined
  const key = JSON.stringify([search, gateway, since, until])
  const { entry } = route.value
  const [pages, setPages] = useState({ key, many: 1 })
  const many = pages.key === key ? pages.many : 1
  const loaded = useLoaded(
    paced(async (signal) => {
      let { pages = 0, ...all } = known.current.key === key ? known.current : {}
      if (all.order !== order || all.entry !== entry || all.turn !== turn) pages = 0
      while (pages < many && (pages === 0 || all.next)) {
        const before = pages > 0 ? all.next : undefined
        const read = await readPeople({ search, gateway, since, until, sort: order, before }, signal)
        all = pages > 0 ? joined(all, read) : read
        pages++
      }
      known.current = { ...all, key, entry, order, turn, pages, isCut: all.total > all.people.length }
      return known.current
    }),
    [key, many, order, entry, turn],
  )
  // What is shown of another search would be taken for the answer to this one.
  const isOther = loaded.value !== undefined && loaded.value.key !== key
  return {
    ...loaded,
    value: isOther ? undefined : loaded.value,
    more: () => setPages({ key, many: many + 1 }),
  }
}

/** Two pages as one. `older` has the messages before those of `newer`. */
function joined(newer, older) {
  const people = new Map(newer.people.map((person) => [comparable(person.identity), person]))
  let isNew = 0
  for (const person of older.people) {
    const key = comparable(person.identity)
    const known = people.get(key)
    if (!known) isNew++
    people.set(key, known ? sumOf(known, person) : person)
  }
  const isWhole = older.next === undefined
  return {
    ...older,
    people: [...people.values()].map((person) => (isWhole ? { ...person, more: undefined } : person)),
    total: Math.max(newer.total + isNew, people.size),
    messages: newer.messages + older.messages,
  }
}

/** The counts of a person on two pages. One without `more` has all of their messages. */
function sumOf(known, older) {
  if (!known.more) return known
  const gateways = [...new Set([...known.gateways, ...older.gateways])]
  const newestText = known.newestText ?? older.newestText
  if (!older.more) return { ...older, gateways, newest: known.newest, newestText }
  const counts = { messages: known.messages + older.messages, wrote: known.wrote + older.wrote }
  return { ...known, gateways, ...counts, newestText, name: known.name ?? older.name }
}
