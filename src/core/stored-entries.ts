import type { ZodType } from 'zod'
import { isJsonObject, type Json, type JsonObject, toJson } from './json.ts'

/**
 * Reads a stored mapping entry by entry. While daemons of two versions run, entries and fields of
 * the newer one may be unknown here: `entries` is without them, and `write` keeps them.
 */
export function readStoredRecord<T extends object>(schema: ZodType<T>, stored: Json | undefined) {
  const raw = isJsonObject(stored) ? stored : {}
  // Without a prototype, because an entry can have a name such as `constructor`.
  const entries: Record<string, T> = Object.create(null)
  for (const [name, one] of Object.entries(raw)) {
    const { data } = schema.safeParse(one)
    if (data) entries[name] = data
  }
  const isUnknown = (name: string) => Object.hasOwn(raw, name) && !(name in entries)
  return {
    entries,
    isUnknown,
    /** The value to store instead. */
    write(next: Readonly<Record<string, T>>): JsonObject {
      const unknown = Object.entries(raw).filter(([name]) => isUnknown(name))
      const known = Object.entries(next).map(([name, one]): [string, Json] => {
        return [name, withUnknownFields(one, raw[name], entries[name])]
      })
      return Object.fromEntries([...known, ...unknown])
    },
  }
}

/** As `readStoredRecord`, for a list. */
export function readStoredList<T extends object>(schema: ZodType<T>, stored: Json | undefined) {
  const rawOf = new Map<T, Json>()
  const unknown: Json[] = []
  for (const one of Array.isArray(stored) ? stored : []) {
    const { data } = schema.safeParse(one)
    if (data) rawOf.set(data, one)
    else unknown.push(one)
  }
  return {
    entries: [...rawOf.keys()],
    unknown,
    /**
     * The list to store instead. Entries that are the same objects as before keep their unknown
     * fields.
     */
    write: (next: readonly T[]): Json[] => {
      const known = next.map((one) => withUnknownFields(one, rawOf.get(one), one))
      return [...known, ...unknown]
    },
  }
}

/** An entry, plus the fields of its stored form that `parsed` does not have. */
export function withUnknownFields(entry: object, raw: Json | undefined, parsed: object | undefined): Json {
  if (!isJsonObject(raw) || !parsed) return toJson(entry)
  const unknown = Object.entries(raw).filter(([field]) => !Object.hasOwn(parsed, field))
  return { ...Object.fromEntries(unknown), ...Object(toJson(entry)) }
}
