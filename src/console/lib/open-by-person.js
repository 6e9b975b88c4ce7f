import { isInGroup as isOfGroup } from '../../lib/open-groups.ts'
import { hasWords } from '../../lib/people-in.ts'
import { invoke } from './api.js'
import { changes } from './live.js'
import { useLoaded } from './parts.js'
import { comparable, partsOf } from './person-identity.js'

/** Maximum number of people with whom something is open. */
const MAX_PEOPLE = 1_000

/**
 * Open items of people. `of(identity, gateway)`: the open items, failed ones first, as on the
 * page of the person. `without(known, words, gateway)`: the people with words in their name or id whose
 * comparable identity is not known. Without a `gateway`, both are about all of them. `arrivals`: see
 * `useArrivals`.
 */
export function useOpenByPerson({ turn, paced }) {
  const { value } = useLoaded(paced(readOpen), [turn, changes.approvals.value, changes.dead.value])
  return value ?? NOTHING_OPEN
}

export const NOTHING_OPEN = { of: () => [], without: () => [] }

/** Whether something of a group is open, or `any`thing. */
export function isOpenAs(things, group) {
  return things.some((thing) => isInGroup(thing, group))
}

export function isInGroup(thing, group) {
  return group === 'any' || isOfGroup(thing, group)
}

async function readOpen(signal) {
  const { people } = await invoke('person-open', { limit: MAX_PEOPLE }, signal)
  const all = new Map(people.map((person) => [comparable(person.identity), person]))
  return {
    of: (identity, gateway) => onGateway(all.get(comparable(identity))?.open ?? [], gateway),
    without: (known, words, gateway) =>
      [...all]
        .filter(
          ([key, { identity, id, name, open }]) =>
            !known.has(key) &&
            hasWords({ gateway: partsOf(identity).gateway, from: { id, name } }, words) &&
            onGateway(open, gateway).length > 0,
        )
        .map(([, person]) => asSender(person, gateway)),
  }
}

function onGateway(things, gateway) {
  return gateway === undefined ? things : things.filter((thing) => thing.gateway === gateway)
}

/** A person without counted messages. */
function asSender({ identity, id, name, open }, gateway) {
  const things = onGateway(open, gateway)
  const [first] = things.toSorted((a, b) => b.at - a.at)
  const gateways = [...new Set(things.flatMap((thing) => thing.gateway ?? []))]
  return { identity, id, name, gateways, messages: 0, wrote: 0, newest: { at: first.at, thing: first } }
}
