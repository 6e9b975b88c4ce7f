import { groupOf } from '../../lib/open-groups.ts'
import { hasWords } from '../../lib/people-in.ts'
import { invoke } from './api.js'
import { changes } from './live.js'
import { useLoaded } from './parts.js'
import { comparable, partsOf } from './person-identity.js'

/** Maximum number of people with whom something is open. */
const MAX_PEOPLE = 1_000

/** States that are shown in another colour than those in which somebody waits. */
const KINDS = { waiting: 'dim', 'being erased': 'busy' }

/** The colour of an open thing. */
export const kindOf = ({ failed, state }) => (failed ? 'bad' : (KINDS[state] ?? 'warn'))

/**
 * What is open with people. `of`: a function of an identity that returns the open things, what
 * failed first, as on the page of the person. `countOf(kind)`: the number of people with something
 * open; see `isOpenAs`. `without(known, words, gateway)`: the people with words in their name or id
 * whose comparable identity is not known.
 */
export function useOpenByPerson() {
  const { value } = useLoaded(readOpen, [changes.approvals.value, changes.dead.value])
  return value ?? NOTHING
}

const NOTHING = { of: () => [], countOf: () => 0, without: () => [] }

/** Whether something of a group is open, or `any`thing. */
export function isOpenAs(things, group) {
  return things.some((thing) => group === 'any' || groupOf(thing) === group)
}

async function readOpen(signal) {
  const { people } = await invoke('person-open', { limit: MAX_PEOPLE }, signal)
  const all = new Map(people.map((person) => [comparable(person.identity), person]))
  return {
    of: (identity) => all.get(comparable(identity))?.open ?? [],
    countOf: (group) => people.filter(({ open }) => isOpenAs(open, group)).length,
    without: (known, words, gateway) =>
      [...all]
        .filter(
          ([key, { identity, id, name, open }]) =>
            !known.has(key) &&
            hasWords({ gateway: partsOf(identity).gateway, from: { id, name } }, words) &&
            (gateway === undefined || open.some((thing) => thing.gateway === gateway)),
        )
        .map(([, person]) => asSender(person)),
  }
}

/** Nobody knows yet how many messages are theirs: all are older than those that were read. */
function asSender({ identity, id, name, open }) {
  const [first] = open.toSorted((a, b) => b.at - a.at)
  const { message = first.id, text = first.title ?? '' } = first
  const gateways = [...new Set(open.flatMap(({ gateway }) => gateway ?? []))]
  return { identity, id, name, gateways, messages: 0, more: true, newest: { ...first, id: message, text } }
}
