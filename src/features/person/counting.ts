import type { Outside } from '../../lib/copies-at.ts'
import { waitFor } from '../../lib/wait-for.ts'
import type { Wanted } from './collect.ts'
import type { Elsewhere } from './elsewhere.ts'
import type { Mentions } from './mentions.ts'
import type { Person } from './person.ts'
import type { OpenItem, Place, Subject } from './place.ts'
import { addTally, type Counts, noCounts } from './tallies.ts'

/** A count is aborted if nobody has asked for it for this long (ms). */
const UNASKED_TIMEOUT = 30_000
/** How long (ms) the result of a count is reused. */
const FRESH_TIME = 5_000
/** Maximum number of counts in memory. */
const MAX_COUNTS = 20

/** The number of records about a person so far. */
export type PersonCount = Counts & {
  /** Messages of others that name the person; absent until they are searched, after the places. */
  mentions?: Mentions
  /** Absent until they are counted, and if no identity is an address on one gateway. */
  elsewhere?: Elsewhere
  /** Where copies may be; absent until the end. */
  outside?: Outside
  done: boolean
  /** Unix ms. */
  startedAt: number
  places: { read: number; all: number }
  /** The place that is being read; absent at the end. */
  at?: string
}

type Counting = {
  shown: PersonCount
  askedAt: number
  endedAt?: number
  error?: unknown
  end: AbortController
  wake: Set<() => void>
  /** Something was exported or erased since it began. */
  isOutdated?: true
}

type CountingDeps = {
  places: readonly Place[]
  collect(wanted: Wanted, signal: AbortSignal): Promise<Person>
  subjectOf(person: Person): Subject
  /** Adds the titles that the places do not have. */
  withTitles(items: readonly OpenItem[]): Promise<OpenItem[]>
  mentions(subject: Subject, signal: AbortSignal): Promise<Mentions>
  elsewhere(identities: readonly string[], signal: AbortSignal): Promise<{ elsewhere?: Elsewhere }>
  outside(person: Person, signal: AbortSignal): Promise<Outside>
  /** Called with each complete count. */
  counted?(identities: readonly string[], counts: Counts): void
  now(): number
}

/** Counts the records about people in the background. Callers can ask how far a count is. */
export function createCounting(deps: CountingDeps) {
  const { places, now } = deps
  const all = new Map<string, Counting>()

  const run = async (identities: readonly string[], counting: Counting) => {
    const { shown, end } = counting
    const subject = deps.subjectOf(await deps.collect({ identities }, end.signal))
    for (const place of places) {
      shown.at = place.name
      if (now() - counting.askedAt > UNASKED_TIMEOUT) end.abort()
      end.signal.throwIfAborted()
      addTally(shown, place.name, await place.tally(subject, end.signal))
      shown.places.read++
    }
    shown.openItems = await deps.withTitles(shown.openItems)
    shown.at = 'messages of others'
    const mentions = await deps.mentions(subject, end.signal)
    const outside = await deps.outside(subject.person, end.signal)
    Object.assign(shown, { mentions, outside }, await deps.elsewhere(identities, end.signal))
    deps.counted?.(identities, shown)
    delete shown.at
  }
  const start = (key: string, identities: readonly string[]): Counting => {
    const shown: PersonCount = {
      ...noCounts(),
      done: false,
      startedAt: now(),
      places: { read: 0, all: places.length },
      at: 'the messages of the person',
    }
    const counting: Counting = { shown, askedAt: now(), end: new AbortController(), wake: new Set() }
    all.set(key, counting)
    const [oldest] = all.size > MAX_COUNTS ? all.keys() : []
    if (oldest !== undefined) stop(oldest)
    void run(identities, counting)
      .catch((error: unknown) => {
        counting.error = error
        if (all.get(key) === counting) all.delete(key)
      })
      .finally(() => {
        shown.done = true
        counting.endedAt = now()
        for (const wake of counting.wake) wake()
      })
    return counting
  }
  const stop = (key: string) => {
    all.get(key)?.end.abort()
    all.delete(key)
  }

  return {
    /**
     * Resolves when the count has ended, or after `wait` ms with the count so far. Rejects if the
     * count failed.
     */
    async ask(identities: readonly string[], wait: number, signal: AbortSignal): Promise<PersonCount> {
      const key = identities.toSorted().join('\n')
      const known = all.get(key)
      const counting = known && isFresh(known, now()) ? known : start(key, identities)
      counting.askedAt = now()
      await waitFor<true>({
        attempt: async () => (counting.shown.done ? { value: true } : {}),
        watch(wake) {
          counting.wake.add(wake)
          return () => counting.wake.delete(wake)
        },
        timeout: wait,
        signal,
      })
      if (counting.error !== undefined) throw counting.error
      return structuredClone(counting.shown)
    },
    /** The next `ask` counts anew: something was exported or erased. */
    forget() {
      for (const counting of all.values()) counting.isOutdated = true
    },
    stop: () => [...all.keys()].forEach(stop),
  }
}

/** Whether the result of a count is still valid at this time. */
function isFresh({ endedAt, isOutdated }: Counting, at: number): boolean {
  return !isOutdated && (endedAt === undefined || at - endedAt < FRESH_TIME)
}
