import { invoke } from './api.js'
import { changes } from './live.js'
import { useLoaded } from './parts.js'
import { comparable, everywhere, personOf } from './person-identity.js'

/** Maximum numbers of conversations and approvals that are read. */
const LIMITS = { conversations: 200, approvals: 1_000 }

/**
 * What is open with people, from two calls for all of them: pending approvals, and conversations in
 * which they wait or whose last reply was not delivered. `of`: a function of an identity that returns
 * `{ kind, word, at }[]`, what failed first. `newest`: a message of each person.
 */
export function useOpenByPerson() {
  const { value } = useLoaded(readOpen, [changes.approvals.value, changes.dead.value])
  return value ?? NOTHING
}

const NOTHING = { of: () => [], newest: [] }

async function readOpen(signal) {
  const [{ conversations }, approvals] = await Promise.all([
    invoke('conversation-list', { unanswered: true, limit: LIMITS.conversations }, signal),
    invoke('approval-list', { status: 'pending', limit: LIMITS.approvals }, signal),
  ])
  const things = [
    ...conversations.map((each) => ({ who: keyOf(personOf(each)), ...thingOf(each) })),
    ...approvals.map((each) => ({ who: keyOf(requesterOf(each)), ...APPROVAL, at: each.requestedAt })),
  ]
  const all = Map.groupBy(things, ({ who }) => who)
  return { of: (identity) => shown(all.get(keyOf(identity)) ?? []), newest: conversations }
}

const keyOf = (identity) => comparable(identity)

const APPROVAL = { word: 'approval', kind: 'warn' }

/** The same words as in the list of conversations. */
function thingOf({ undelivered, heldBy, waitingSince, outcome }) {
  if (undelivered) return { word: 'not delivered', kind: 'bad', at: undelivered.at }
  if (heldBy) return { word: 'taken over', kind: 'warn', at: waitingSince ?? heldBy.since }
  return { word: 'waits', kind: 'warn', at: waitingSince, isForApproval: outcome === 'approval' }
}

/** Who waits for an approval is not shown as waiting, too. */
function shown(things) {
  const isAsked = things.some(({ word }) => word === APPROVAL.word)
  return things
    .filter(({ isForApproval }) => !(isAsked && isForApproval))
    .toSorted((a, b) => Number(b.kind === 'bad') - Number(a.kind === 'bad') || a.at - b.at)
}

function requesterOf({ by = '', message }) {
  return message ? personOf({ gateway: message.gateway, from: { id: message.from } }) : everywhere(by)
}

/** Since when something is open with a person, for sorting: those with nothing come last. */
export function openSince(things) {
  return Math.min(...things.map(({ at }) => at))
}
