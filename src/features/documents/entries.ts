import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { createRecordReader } from '../../core/record-reader.ts'
import type { DocumentSpec } from './spec.ts'

type Check<T> = (document: JsonObject, toError: (details: string) => Error) => T

/**
 * Reads the lists that `entries` of a spec names, entry by entry. Unreadable ones are left out of
 * the document, logged once, and kept by writes.
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

  return {
    /**
     * Checks a document, and returns it without unreadable entries; the same object if there are
     * none.
     */
    checkReadable(document: JsonObject, toError: (details: string) => Error): T {
      try {
        return check(document, toError)
      } catch (error) {
        const readable = readableOf(document)
        if (readable === document) throw error
        return check(readable, toError)
      }
    },
    /** A document with the unreadable entries of the `stored` one, at the end of their lists. */
    withUnreadable<D extends JsonObject>(document: D, stored: JsonObject): D {
      let result = document
      for (const { list, reader } of lists) {
        const unreadable = entriesOf(stored, list).filter(
          (one) => reader.read(keyOf(list, one), one) === undefined,
        )
        if (unreadable.length > 0)
          result = { ...result, [list]: [...entriesOf(document, list), ...unreadable] }
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
