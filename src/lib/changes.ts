import { isDeepStrictEqual } from 'node:util'

type Value = null | boolean | number | string | Value[] | { [key: string]: Value }

/** The values of changed settings. `null`: not set. */
export type Changes = Record<string, { before: Value; after: Value }>

type Values = Record<string, Value>

/**
 * The settings that differ between two records. `shown`: returns the values of a record without
 * secrets.
 */
export function changesOf<T extends Values>(before: T, after: T, shown: (values: T) => Values): Changes {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  const changed = [...names].filter((name) => !isDeepStrictEqual(before[name], after[name]))
  const from = shown(before)
  const to = shown(after)
  return Object.fromEntries(
    changed.map((name) => [name, { before: from[name] ?? null, after: to[name] ?? null }]),
  )
}
