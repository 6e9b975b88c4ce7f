import { textAt } from '../core/json.ts'
import { timeIn } from '../core/message-id.ts'
import type { ServiceOf } from '../core/operation.ts'
import { resumedJobs } from '../core/resumed-job.ts'
import type { DeadLetter, Store } from '../core/store.ts'
import { HOUR } from '../core/units.ts'
import { patternOf } from '../lib/error-pattern.ts'
import { DISPATCH_QUEUE } from './dispatch-queue.ts'
import { lastOf } from './letter-groups.ts'
import { letterSearch } from './letter-search.ts'
import type { RememberedLetter } from './letters-of-jobs.ts'
import type { deadLetters } from './operations/messages.ts'

export type Filter = Parameters<ServiceOf<typeof deadLetters>['groups']>[0]
export type Place = Pick<DeadLetter, 'at' | 'id'>
/**
 * `isPartial`: leaves out letters of unreachable shards, which is enough to show letters. `own`: the
 * job that acts on the letters.
 */
type Reading = { from?: Place | undefined; isPartial?: boolean; own?: string | undefined }
type Key = { id: string; queue: string | undefined }

/** Letters per read. */
const PAGE = 100

/**
 * Makes a function that yields the dead letters that match a filter, newest first. Letters of a
 * job, or with given ids, are read one by one, without reading others.
 */
export function createMatching(
  { jobs: { deadLetters }, journal }: Pick<Store, 'jobs' | 'journal'>,
  retriedBy: (job: string) => Promise<RememberedLetter[]>,
) {
  const { list, get } = deadLetters
  /** A letter by its id. A run after an approval has another id than its message. */
  const letterOf = async ({ id, queue }: Key): Promise<DeadLetter | undefined> => {
    const exact = await get(id, queue)
    if (exact || queue !== DISPATCH_QUEUE) return exact
    for (const run of resumedJobs(id, await journal.history(id))) {
      const letter = await get(run, queue)
      if (letter) return letter
    }
    return undefined
  }
  /** The keys in a filter; undefined if it has none. */
  const namedIn = async ({ ids, job, queue }: Filter, own?: string): Promise<Key[] | undefined> => {
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
  const named = async (keys: readonly Key[], filter: Filter, from: Place | undefined) => {
    const found: DeadLetter[] = []
    for (let at = 0; at < keys.length; at += PAGE) {
      const some = keys.slice(at, at + PAGE)
      const letters = await Promise.all(some.map(letterOf))
      found.push(...letters.filter((letter) => letter !== undefined))
    }
    const { queue, group, since = 0 } = filter
    return found
      .filter(
        (letter) =>
          letter.at >= since &&
          (queue ?? letter.queue) === letter.queue &&
          (group ?? letter.group) === letter.group &&
          (from === undefined || isNewer(from, letter)),
      )
      .sort((one, other) => (isNewer(one, other) ? -1 : 1))
  }
  return async function* matching(filter: Filter, { from, isPartial = false, own }: Reading = {}) {
    const wanted = { ...filter, since: filter.since ?? earliestOf(filter) }
    const before = earlierOf(from, filter.until)
    const matches = matcherOf(filter)
    const keys = await namedIn(filter, own)
    const letters = keys ? await named(keys, wanted, before) : all(wanted, { from: before, isPartial })
    for await (const letter of letters) if (matches(letter)) yield letter
  }
}

function isNewer(one: Place, other: Place): boolean {
  return one.at === other.at ? one.id > other.id : one.at > other.at
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
