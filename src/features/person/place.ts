import type { Json } from '../../core/json.ts'
import type { Person, References } from './person.ts'

/** The person to look for, with references to their data. */
export type Subject = { person: Person; about: References; withFiles?: boolean }

/**
 * A place that may contain data about a person. Export and erasure use the same list of places.
 * `where`: in the shared store, or in the data directory of each daemon.
 */
export type Place = {
  name: string
  where: 'store' | 'data dir'
  /** All data about the person, for the export. */
  records(subject: Subject): AsyncIterable<Json>
  /** Erases the data; yields the number of records erased at each step. Can be repeated. */
  erase(subject: Subject): AsyncIterable<number>
}

type Definition<T> = {
  name: string
  where: Place['where']
  /** Finds the data in batches. Erasing one batch does not affect the next. */
  find(subject: Subject): AsyncIterable<readonly T[]>
  record(found: T, subject: Subject): Json | Promise<Json>
  erase(found: readonly T[], subject: Subject): Promise<unknown>
}

export function definePlace<T>({ name, where, find, record, erase }: Definition<T>): Place {
  return {
    name,
    where,
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
