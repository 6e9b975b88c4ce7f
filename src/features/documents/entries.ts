import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { createRecordReader } from '../../core/record-reader.ts'
import type { DocumentSpec } from './spec.ts'

/** Returns what takes the place of an unreadable entry; undefined removes it. */
export type ChangeEntry = (entry: Json) => Json | undefined

const same: ChangeEntry = (entry) => entry

type Check<T> = (document: JsonObject, toError: (details: string) => Error) => T

/**
 * Reads the lists that `entries` of a spec names, entry by entry. Unreadable entries are left out
 * of the document, logged once, and kept by writes.
 */
export function createEntryReader<T extends JsonObject>(
  { name, entries = {} }: Pick<DocumentSpec, 'name' | 'entries'>,
  check: Check<T>,
  log: Pick<Log, 'warn'> = { warn() {} },
) {
  const lists = Object.entries(entries).map(([list, schema]) => ({
    list,
    reader: createRecordReader(`${list} of the document ${name}`, schema, log),
  }))

  const readableOf = (document: JsonObject): JsonObject => {
    let result = document
    for (const { list, reader } of lists) {
      const all = entriesOf(document, list)
      const readable = all.filter((one) => reader.read(keyOf(list, one), one) !== undefined)
      if (readable.length < all.length) result = { ...result, [list]: readable }
    }
    return result
  }

  const unreadableIn = (document: JsonObject, { list, reader }: (typeof lists)[number]): Json[] =>
    entriesOf(document, list).filter((one) => reader.read(keyOf(list, one), one) === undefined)

  return {
    /** The unreadable entries of a document. */
    unreadableOf: (document: JsonObject): Json[] => lists.flatMap((each) => unreadableIn(document, each)),
    /**
     * Returns the document itself if it is valid; otherwise a copy without its unreadable entries,
     * if that is valid.
     */
    checkReadable(document: JsonObject, toError: (details: string) => Error): T {
      try {
        return check(document, toError)
      } catch (error) {
        const readable = readableOf(document)
        // It has no unreadable entries: the error is elsewhere in the document.
        if (readable === document) throw error
        return check(readable, toError)
      }
    },
    /**
     * A document with the unreadable entries of the `stored` one, at the end of their lists.
     * `change` returns what takes the place of an entry; undefined removes it.
     */
    withUnreadable<D extends JsonObject>(document: D, stored: JsonObject, change: ChangeEntry = same): D {
      let result = document
      for (const each of lists) {
        const unreadable = unreadableIn(stored, each).map(change)
        const kept = unreadable.filter((one) => one !== undefined)
        if (kept.length > 0) result = { ...result, [each.list]: [...entriesOf(document, each.list), ...kept] }
      }
      return result
    },
  }
}

function entriesOf(document: JsonObject, list: string): Json[] {
  const value = document[list]
  return Array.isArray(value) ? value : []
}

function keyOf(list: string, one: Json): string {
  const id = isJsonObject(one) ? one.id : undefined
  return `${list}/${typeof id === 'string' ? id : JSON.stringify(one)?.slice(0, 100)}`
}
