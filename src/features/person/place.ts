import type { Json } from '../../core/json.ts'
import type { Person, References } from './person.ts'

/** One who is looked for, and what leads to them. */
export type Subject = { person: Person; about: References; withFiles?: boolean }

/**
 * Where something about a person may be kept. Export and erasure go through one list of these. `where`: on the store that daemons share,
 * or in the data dir of each.
 */
export type Place = {
  name: string
  where: 'store' | 'data dir'
  /** All that is there about somebody, as it is exported. */
  records(subject: Subject): AsyncIterable<Json>
  /** Erases it, and tells how many records went, bit by bit. Repeated it does no harm. */
  erase(subject: Subject): AsyncIterable<number>
}

type Definition<T> = {
  name: string
  where: Place['where']
  /** Finds what is there in batches; what `erase` did to one does not disturb the next. */
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
