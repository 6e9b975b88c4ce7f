import { textAt } from '../core/json.ts'
import { timeIn } from '../core/message-id.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { DeadLetter, Store } from '../core/store.ts'
import { HOUR } from '../core/units.ts'
import { patternOf } from '../lib/error-pattern.ts'
import { lastOf } from './letter-groups.ts'
import { letterSearch } from './letter-search.ts'
import type { RememberedLetter } from './letters-of-jobs.ts'
import { createNamedLetters, type NamedLetter, type Place } from './named-letters.ts'
import type { deadLetters } from './operations/messages.ts'

export type Filter = Parameters<ServiceOf<typeof deadLetters>['groups']>[0]
export type { Place } from './named-letters.ts'

/**
 * `isPartial`: leaves out letters of unreachable shards, which is enough to show letters. `own`: the
 * job that acts on the letters.
 */
type Reading = { from?: Place | undefined; isPartial?: boolean; own?: string | undefined }

/** Letters per read. */
const PAGE = 100

/**
 * Makes a function that yields the dead letters that match a filter, newest first. Letters of a
 * job, or with given ids, are read by their ids, without reading others.
 */
export function createMatching(
  { jobs, journal }: Pick<Store, 'jobs' | 'journal'>,
  retriedBy: (job: string) => Promise<RememberedLetter[]>,
) {
  const { list } = jobs.deadLetters
  const named = createNamedLetters({ jobs, journal })
  /** The keys in a filter; undefined if it has none. */
  const namedIn = async ({ ids, job, queue }: Filter, own?: string): Promise<NamedLetter[] | undefined> => {
    const keys = ids && [...new Set(ids)].map((id) => ({ id, queue }))
    if (job === undefined) return keys
    const known = (await retriedBy(job)).filter(({ later }) => later === undefined || later.job === own)
    return keys === undefined ? known : known.filter(({ id }) => ids?.includes(id))
  }
  async function* all({ queue, group, since = 0 }: Filter, { from, isPartial = false }: Reading) {
    let before = from
    for (;;) {
      const page = await list({ queue, group, before, limit: PAGE, isPartial })
      for (const letter of page.items) {
        if (letter.at < since) return
        yield letter
      }
      before = page.items.at(-1)
      if (!page.more || !before) return
    }
  }
  async function* chosen(keys: readonly NamedLetter[], filter: Filter, range: Reading & { isNext: boolean }) {
    const { job, ids, queue, group, since = 0 } = filter
    const { own, from, isNext } = range
    // A job that acts on its letters needs them as they are now.
    const list = job === undefined || own !== undefined ? undefined : JSON.stringify([job, ids])
    for await (const letter of named(keys, { list, isNext, from }))
      if (
        letter.at >= since &&
        (queue ?? letter.queue) === letter.queue &&
        (group ?? letter.group) === letter.group
      )
        yield letter
  }
  return async function* matching(filter: Filter, { from, isPartial = false, own }: Reading = {}) {
    const wanted = { ...filter, since: filter.since ?? earliestOf(filter) }
    const before = earlierOf(from, filter.until)
    const matches = matcherOf(filter)
    const keys = await namedIn(filter, own)
    const letters = keys
      ? chosen(keys, wanted, { from: before, own, isNext: from !== undefined })
      : all(wanted, { from: before, isPartial })
    for await (const letter of letters) if (matches(letter)) yield letter
  }
}

/**
 * The time (Unix ms) before which no letter matches. A letter is younger than its message, unless
 * the clock was set back.
 */
function earliestOf({ message = '', arrivedSince = 0 }: Filter): number {
  return Math.max(timeIn(message) ?? 0, arrivedSince) - HOUR
}

/** Makes the predicate of a filter, without its times, queue and group. */
function matcherOf(filter: Filter): (letter: DeadLetter) => boolean {
  const { message, error = '', code, pattern, arrivedSince = 0, arrivedUntil = Infinity } = filter
  const wanted = error.toLowerCase()
  const hasWords = filter.search === undefined ? undefined : letterSearch(filter.search)
  return (letter) => {
    const arrivedAt = timeIn(letter.message?.id ?? '') ?? letter.at
    if (arrivedAt < arrivedSince || arrivedAt >= arrivedUntil) return false
    if (message !== undefined && !concerns(letter, message)) return false
    const last = lastOf(letter)
    if (code !== undefined && last.code !== code) return false
    if (pattern !== undefined && patternOf(last.message) !== pattern) return false
    return last.message.toLowerCase().includes(wanted) && (hasWords?.(letter) ?? true)
  }
}

/** Whether a letter is that of a message, possibly merged into another one, or of a reply to it. */
function concerns({ message, collected = [], data }: DeadLetter, id: string): boolean {
  return [message, ...collected].some((one) => one?.id === id) || textAt(data, 'inReplyTo') === id
}

/** The cursor of a page, or the end of the filter if that is earlier. */
function earlierOf(cursor: Place | undefined, until: number | undefined): Place | undefined {
  if (until === undefined) return cursor
  return cursor && cursor.at < until ? cursor : { at: until, id: '' }
}
