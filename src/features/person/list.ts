import { requireGateway } from '../../core/call.ts'
import type { Message } from '../../core/message.ts'
import { timeOf } from '../../core/message-id.ts'
import type { Outcome } from '../../core/message-query.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { MessageSearch, Store } from '../../core/store.ts'
import { rowOf } from '../../engine/search.ts'
import { defined } from '../../lib/defined.ts'
import { addSender, hasWords, longestOf, type Sender, shownIn, wordsIn } from '../../lib/people-in.ts'
import { ANY, comparable, partsOf, personOf } from '../../lib/person-identity.ts'
import { requireOperator } from './erasure.ts'
import { isEvent } from './event.ts'
import type { RequireGateways } from './known-gateways.ts'
import type * as operations from './operations.ts'

/** Number of messages per read of the journal. */
const PAGE = 500
/** Approximate duration (ms) of finding people, and of counting the messages of those found. */
const CALL_TIME = 3_000
/** Maximum number of people whose messages are counted one by one. */
const MAX_COUNTED = 20
/** Maximum number of messages read to find names. */
const MAX_NAMING = 2_000

type Found = Pick<Message, 'gateway' | 'from'> & { message: Message; outcome: Outcome }
/** `wrote`: the number of messages, without machine events; `text`: the newest of these. */
type Counted = Sender<Found> & { wrote: number; text?: Found | undefined }
/** `isPart`: not all of their messages were counted. */
type Person = Counted & { isPart: boolean }
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
      const counted = await countNamed(listed, words, filter, reading)
      const isFiltered = gateway !== undefined || since !== undefined || until !== undefined
      const named = (some: readonly Person[]) =>
        isFiltered ? withNames(some, caller.gateways, reading) : Promise.resolve(some)
      const isByName = sort === 'name'
      const ordered = (isByName ? await named(counted) : counted).toSorted(ORDERS[sort])
      const listedFirst = ordered.slice(0, limit)
      const shown = (isByName ? listedFirst : await named(listedFirst)).map(personRow)
      const messages = counted.reduce((sum, person) => sum + person.messages, 0)
      const searchedTo = next === undefined ? undefined : timeOf(next)
      return { people: shown, total: people.size, messages, ...defined({ next, searchedTo, away }) }
    },
  } satisfies ServiceOf<typeof operations.personList>
}

/** Who wrote last comes first, then people about whom only machines sent something, newest first. */
function compareLast(a: Person, b: Person): number {
  const [one, other] = [a, b].map(({ text }) => text?.message.id ?? '')
  if (one !== undefined && other !== undefined && one !== other) return one < other ? 1 : -1
  return a.newest.message.id < b.newest.message.id ? 1 : -1
}

const ORDERS = {
  last: compareLast,
  /** See `withWaits`. */
  waits: compareLast,
  messages: (a: Person, b: Person) => b.messages - a.messages,
  wrote: (a: Person, b: Person) => b.wrote - a.wrote || compareLast(a, b),
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
  const texts = new Map<Sender<Found>, { wrote: number; text: Found }>()
  let messages = 0
  let next = before
  let away: number[] | undefined
  do {
    signal.throwIfAborted()
    const limit = Math.min(PAGE, most - messages)
    const page = await journal.search({ ...query, before: next, limit, isPartial: true })
    for (const { message, outcome } of page.found) {
      if (!isWanted(message)) continue
      const found = { gateway: message.gateway, from: message.from, message, outcome }
      const sender = addSender(people, found)
      const { wrote = 0, text = found } = (sender && texts.get(sender)) ?? {}
      if (sender && !isEvent(message)) texts.set(sender, { wrote: wrote + 1, text })
      messages++
    }
    next = page.next
    away = page.away ?? away
  } while (next !== undefined && messages < most && now() < deadline)
  const counted = [...people].map(([key, sender]): [string, Counted] => [
    key,
    { ...sender, wrote: 0, ...texts.get(sender) },
  ])
  return { people: new Map(counted), next, away }
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

/**
 * Adds names from newer messages on other gateways or at other times: the same address may have a
 * name in mail, but not in a chat.
 */
async function withNames(
  people: readonly Person[],
  gateways: readonly string[] | undefined,
  { journal, signal, now }: Reading,
): Promise<readonly Person[]> {
  const deadline = now() + CALL_TIME
  const nameless = new Set(
    people.filter((each) => each.shown === undefined).map(({ identity }) => comparable(identity)),
  )
  const names = new Map<string, string>()
  let before: string | undefined
  for (let read = 0; names.size < nameless.size && read < MAX_NAMING && now() < deadline; read += PAGE) {
    signal.throwIfAborted()
    const page = await journal.search({ gateways, before, limit: PAGE, isPartial: true })
    for (const { message } of page.found) {
      const [who, name] = [comparable(personOf(message)), shownIn(message.from)]
      if (name !== undefined && nameless.has(who) && !names.has(who)) names.set(who, name)
    }
    before = page.next
    if (before === undefined) break
  }
  return people.map((each) => ({ ...each, shown: each.shown ?? names.get(comparable(each.identity)) }))
}

function personRow({ identity, name, shown, newest, text, gateways, messages, wrote, isPart }: Person) {
  return {
    identity,
    id: name,
    ...defined({ name: shown }),
    gateways: [...gateways],
    messages,
    wrote,
    ...(isPart && { more: true }),
    newest: withoutSender(newest),
    ...(text && { newestText: withoutSender(text) }),
  }
}

function withoutSender({ message, outcome }: Found) {
  const { from: _, ...row } = rowOf(message, outcome)
  return row
}
