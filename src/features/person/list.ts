import { requireGateway } from '../../core/call.ts'
import type { Message } from '../../core/message.ts'
import { timeOf } from '../../core/message-id.ts'
import type { Outcome } from '../../core/message-query.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { MessageSearch, Store } from '../../core/store.ts'
import { rowOf } from '../../engine/search.ts'
import { defined } from '../../lib/defined.ts'
import { addSender, hasWords, longestOf, type Sender, wordsIn } from '../../lib/people-in.ts'
import { ANY, comparable, partsOf, personOf } from '../../lib/person-identity.ts'
import { requireOperator } from './erasure.ts'
import type { RequireGateways } from './known-gateways.ts'
import type * as operations from './operations.ts'

/** Number of messages per read of the journal. */
const PAGE = 500
/** Approximate duration (ms) of finding people, and of counting the messages of those found. */
const CALL_TIME = 3_000
/** Maximum number of people whose messages are counted one by one. */
const MAX_COUNTED = 20

type Found = Pick<Message, 'gateway' | 'from'> & { message: Message; outcome: Outcome }
/** `isPart`: not all of their messages were counted. */
type Person = Sender<Found> & { isPart: boolean }
type Journal = Pick<Store['journal'], 'search'>

/** `person-list`: the senders of the newest messages. Leaves out unreachable shards. */
export function createPersonList(
  { journal, requireGateways }: { journal: Journal; requireGateways: RequireGateways },
  now: () => number = () => performance.now(),
) {
  return {
    async list({ name, gateway, since, until, messages: most, before, limit, sort }, call) {
      requireOperator(call, 'Listing people')
      const { caller, signal } = call
      if (gateway !== undefined) {
        requireGateway(caller, gateway)
        await requireGateways([`${gateway}:*`], signal)
      }
      const words = wordsIn(name ?? '')
      const gateways = gateway === undefined ? caller.gateways : [gateway]
      const reading = { journal, signal, now, most }
      const filter = { gateways, since, until }
      const query = { ...filter, sender: longestOf(words), before }
      const { people, next, away } = await readPeople(query, reading, (sent) => hasWords(sent, words))
      const isPart = next !== undefined || before !== undefined
      const listed = [...people.values()].map((person) => ({ ...person, isPart }))
      const whole = await countNamed(listed, words, filter, reading)
      const shown = whole.toSorted(ORDERS[sort]).slice(0, limit).map(personRow)
      const messages = whole.reduce((sum, person) => sum + person.messages, 0)
      const searchedTo = next === undefined ? undefined : timeOf(next)
      return { people: shown, total: people.size, messages, ...defined({ next, searchedTo, away }) }
    },
  } satisfies ServiceOf<typeof operations.personList>
}

const ORDERS = {
  last: (a: Person, b: Person) => (a.newest.message.id < b.newest.message.id ? 1 : -1),
  messages: (a: Person, b: Person) => b.messages - a.messages,
  name: (a: Person, b: Person) => (a.shown ?? a.name).localeCompare(b.shown ?? b.name),
}

type Reading = { journal: Journal; signal: AbortSignal; now(): number; most: number }

/** The senders of the newest matches of a query that `isWanted`, and where to continue. */
async function readPeople(
  { before, ...query }: Omit<MessageSearch, 'limit'>,
  { journal, signal, now, most }: Reading,
  isWanted: (message: Message) => boolean,
) {
  const deadline = now() + CALL_TIME
  const people = new Map<string, Sender<Found>>()
  let messages = 0
  let next = before
  let away: number[] | undefined
  do {
    signal.throwIfAborted()
    const limit = Math.min(PAGE, most - messages)
    const page = await journal.search({ ...query, before: next, limit, isPartial: true })
    for (const { message, outcome } of page.found) {
      if (!isWanted(message)) continue
      addSender(people, { gateway: message.gateway, from: message.from, message, outcome })
      messages++
    }
    next = page.next
    away = page.away ?? away
  } while (next !== undefined && messages < most && now() < deadline)
  return { people, next, away }
}

/**
 * The people with all of their messages counted, if they were found by a name: webhooks, for
 * example, have only the address of the same person.
 */
async function countNamed(
  people: readonly Person[],
  words: readonly string[],
  filter: Pick<MessageSearch, 'gateways' | 'since' | 'until'>,
  reading: Reading,
): Promise<Person[]> {
  const deadline = reading.now() + CALL_TIME
  const named = people.filter(({ identity, name }) => {
    return !hasWords({ gateway: partsOf(identity).gateway, from: { id: name } }, words)
  })
  const counted = new Map<string, Person>()
  for (const person of named.slice(0, MAX_COUNTED)) {
    if (reading.now() > deadline) break
    const { gateway } = partsOf(person.identity)
    const gateways = gateway === ANY ? filter.gateways : [gateway]
    const query = { ...filter, gateways, sender: person.name }
    const who = comparable(person.identity)
    const found = await readPeople(query, reading, (message) => comparable(personOf(message)) === who)
    const whole = found.people.get(who)
    if (whole) counted.set(who, { ...whole, isPart: found.next !== undefined })
  }
  return people.map((person) => {
    if (!named.includes(person)) return person
    return counted.get(comparable(person.identity)) ?? { ...person, isPart: true }
  })
}

function personRow({ identity, name, shown, newest, gateways, messages, isPart }: Person) {
  const { from: _, ...message } = rowOf(newest.message, newest.outcome)
  return {
    identity,
    id: name,
    ...defined({ name: shown }),
    gateways: [...gateways],
    messages,
    ...(isPart && { more: true }),
    newest: message,
  }
}
