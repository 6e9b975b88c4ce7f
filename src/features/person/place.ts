import type { Json } from '../../core/json.ts'
import { addCount } from '../../lib/name-counts.ts'
import type { OpenKind } from '../../lib/open-kinds.ts'
import type { Person, References } from './person.ts'

/**
 * The person to look for, with tests for data about them. `withFiles`: whether an export includes
 * the content of files. `erasedBy`: the erasure, during one.
 */
export type Subject = { person: Person; about: References; withFiles?: boolean; erasedBy?: ErasedBy }

/** Who erases, the id of the job, and the reference of the request. */
export type ErasedBy = { by: string; job: string; reference?: string }

/**
 * Something unfinished that an erasure takes along. `title` and the ids are personal data: they are
 * shown before an erasure, and not stored. `at`: when it is due (Unix ms).
 */
export type OpenItem = {
  kind: OpenKind
  title?: string
  id?: string
  gateway?: string
  conversation?: string
  by?: string
  at?: number
}

/** The number of records about a person, also by kind if the place has several kinds. */
export type Count = { count: number; kinds: Record<string, number> }
/** A count with what is unfinished. */
export type Tally = Count & { open: OpenItem[] }

/** A place that may contain data about a person. Export and erasure use the same list of places. */
export type Place = {
  name: string
  /** In the shared store, or in the data directory of each daemon. */
  where: 'store' | 'data dir'
  /** Whether something in it may be unfinished. */
  mayBeOpen: boolean
  /** All data about the person, for the export. */
  records(subject: Subject): AsyncIterable<Json>
  /** Counts the data in steps; `signal` ends it. */
  tally(subject: Subject, signal: AbortSignal): Promise<Tally>
  /**
   * Erases the data. Yields the number of records erased by each step, and the unfinished items
   * among them, by kind. Can be repeated.
   */
  erase(subject: Subject): AsyncIterable<Count & { open?: Record<string, number> }>
}

/** A place whose data is found as values of `T`. */
type Definition<T> = {
  name: string
  where: Place['where']
  /** Finds the data in batches. Erasing one batch does not affect the next. */
  find(subject: Subject): AsyncIterable<readonly T[]>
  /** The data as JSON, for the export. */
  record(found: T, subject: Subject): Json | Promise<Json>
  erase(found: readonly T[], subject: Subject): Promise<unknown>
  /** The kind of a record, in the plural. Absent if the place has only one. */
  kindOf?(found: T): string
  /** What of a record is unfinished. */
  openIn?(found: T, subject: Subject): readonly OpenItem[]
  /** A faster count than with `find`. */
  tally?: Place['tally']
}

/** Makes a place from its definition. */
export function definePlace<T>(definition: Definition<T>): Place {
  const { name, where, find, record, erase, kindOf, openIn } = definition
  const kindsOf = (found: readonly T[]) => {
    const kinds: Record<string, number> = {}
    if (kindOf) for (const one of found) addCount(kinds, kindOf(one))
    return kinds
  }
  const tally: Place['tally'] = async (subject, signal) => {
    const sum: Tally = { count: 0, kinds: {}, open: [] }
    for await (const batch of find(subject)) {
      signal.throwIfAborted()
      addCounts(sum, { count: batch.length, kinds: kindsOf(batch) })
      if (openIn) sum.open.push(...batch.flatMap((found) => openIn(found, subject)))
    }
    return sum
  }
  return {
    name,
    where,
    mayBeOpen: openIn !== undefined || definition.tally !== undefined,
    tally: definition.tally ?? tally,
    async *records(subject) {
      for await (const batch of find(subject)) for (const found of batch) yield await record(found, subject)
    },
    async *erase(subject) {
      for await (const batch of find(subject)) {
        if (batch.length === 0) continue
        const open: Record<string, number> = {}
        if (openIn)
          for (const { kind } of batch.flatMap((found) => openIn(found, subject))) addCount(open, kind)
        await erase(batch, subject)
        yield { count: batch.length, kinds: kindsOf(batch), open }
      }
    },
  }
}

/** Adds a count to a sum. */
function addCounts(sum: Count, { count, kinds }: Count): void {
  sum.count += count
  for (const [kind, many] of Object.entries(kinds)) addCount(sum.kinds, kind, many)
}
