import type { Outcome } from '../core/message-query.ts'
import { resumedJobs } from '../core/resumed-job.ts'
import type { DeadLetter, Store } from '../core/store.ts'
import { DISPATCH_QUEUE } from './dispatch-queue.ts'

/** `messageId`: the message of a letter of dispatch, if it is known. */
export type NamedLetter = { id: string; queue: string | undefined; messageId?: string | undefined }
/** A place in a list that is newest first. */
export type Place = Pick<DeadLetter, 'at' | 'id'>
/** `list`: identifies a list. `isNext`: not its first page. `from`: only letters after this place. */
type Range = { list?: string | undefined; isNext?: boolean; from?: Place | undefined }
type Placed = Place & { key: NamedLetter }
type Found = { letter: DeadLetter; key: NamedLetter }

/** Letters per read, and for the later pages of a list. */
const PAGE = 100
const SMALL_PAGE = 20
/** Outcomes of messages whose dispatch has ended well, or whose dead letters were dropped. */
const WITHOUT_LETTER: ReadonlySet<Outcome> = new Set([
  'done',
  'dropped',
  'merged',
  'replying',
  'undelivered',
  'bounced',
  'suppressed',
] as const)
/** Maximum number of lists whose order is remembered. */
const MOST_REMEMBERED = 20

/**
 * Makes a function that yields the existing ones of named dead letters, newest first. The later pages of
 * a list read only their own letters.
 */
export function createNamedLetters({ jobs, journal }: Pick<Store, 'jobs' | 'journal'>) {
  const { get } = jobs.deadLetters
  const orders = new Map<string, readonly Placed[]>()

  /** A letter by its id. A run after an approval has another id than its message. */
  async function letterOf({ id, queue }: NamedLetter): Promise<DeadLetter | undefined> {
    const exact = await get(id, queue)
    if (exact || queue !== DISPATCH_QUEUE) return exact
    for (const run of resumedJobs(id, await journal.history(id))) {
      const letter = await get(run, queue)
      if (letter) return letter
    }
    return undefined
  }

  async function* read(keys: readonly NamedLetter[], size = PAGE) {
    for (let at = 0; at < keys.length; at += size) {
      const some = keys.slice(at, at + size)
      const letters = await Promise.all(some.map(letterOf))
      yield letters.flatMap((letter, index) => {
        const key = some[index]
        return letter && key ? [{ letter, key }] : []
      })
    }
  }

  /** Without the letters whose messages are known to have ended in another way. */
  async function mayExist(keys: readonly NamedLetter[]): Promise<NamedLetter[]> {
    const found: NamedLetter[] = []
    for (let at = 0; at < keys.length; at += PAGE) {
      const some = keys.slice(at, at + PAGE)
      const ids = some.flatMap(({ messageId }) => messageId ?? [])
      const known = ids.length === 0 ? [] : await journal.outcomes(ids)
      const outcomes = new Map(known.map((outcome, index) => [ids[index], outcome]))
      found.push(
        ...some.filter(({ messageId }) => {
          const outcome = messageId === undefined ? undefined : outcomes.get(messageId)
          return outcome === undefined || !WITHOUT_LETTER.has(outcome)
        }),
      )
    }
    return found
  }

  /** All that exist, in order. */
  async function readAll(keys: readonly NamedLetter[]): Promise<Found[]> {
    const found: Found[] = []
    for await (const some of read(await mayExist(keys))) found.push(...some)
    return found.sort((one, other) => (isNewer(one.letter, other.letter) ? -1 : 1))
  }

  function remember(list: string, order: readonly Placed[]): void {
    orders.delete(list)
    orders.set(list, order)
    for (const oldest of orders.keys()) if (orders.size > MOST_REMEMBERED) orders.delete(oldest)
  }

  return async function* named(
    keys: readonly NamedLetter[],
    { list, isNext = false, from }: Range,
  ): AsyncGenerator<DeadLetter> {
    const isAhead = (place: Place) => from === undefined || isNewer(from, place)
    const known = list !== undefined && isNext ? orders.get(list) : undefined
    if (known) {
      const wanted = new Set(keys.map(nameOf))
      const rest = known.filter((place) => isAhead(place) && wanted.has(nameOf(place.key)))
      for await (const some of read(
        rest.map(({ key }) => key),
        SMALL_PAGE,
      ))
        for (const { letter } of some) yield letter
      return
    }
    const found = await readAll(keys)
    const order = found.map(({ letter: { at, id }, key }) => ({ at, id, key }))
    if (list !== undefined) remember(list, order)
    for (const { letter } of found) if (isAhead(letter)) yield letter
  }
}

function nameOf({ id, queue }: NamedLetter): string {
  return `${queue} ${id}`
}

/** Whether a letter is before another one in a list. */
function isNewer(one: Place, other: Place): boolean {
  return one.at === other.at ? one.id > other.id : one.at > other.at
}
