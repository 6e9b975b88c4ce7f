import type { Json } from '../../core/json.ts'
import type { Person, References } from './person.ts'

/**
 * The person to look for, with tests for data about them. `withFiles`: whether an export includes
 * the content of files.
 */
export type Subject = { person: Person; about: References; withFiles?: boolean }

/** A place that may contain data about a person. Export and erasure use the same list of places. */
export type Place = {
  name: string
  /** In the shared store, or in the data directory of each daemon. */
  where: 'store' | 'data dir'
  /** All data about the person, for the export. */
  records(subject: Subject): AsyncIterable<Json>
  /** The number of records. Absent if all records must be read to count them. */
  count?(subject: Subject): Promise<number>
  /** Erases the data. Yields the number of records erased by each step. Can be repeated. */
  erase(subject: Subject): AsyncIterable<number>
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
  count?(subject: Subject): Promise<number>
}

/** Makes a place from its definition. */
export function definePlace<T>({ name, where, find, record, erase, count }: Definition<T>): Place {
  return {
    name,
    where,
    ...(count && { count }),
    async *records(subject) {
      for await (const batch of find(subject)) for (const found of batch) yield await record(found, subject)
    },
    async *erase(subject) {
      for await (const batch of find(subject)) {
        if (batch.length === 0) continue
        await erase(batch, subject)
        yield batch.length
      }
    },
  }
}
