import { isDeepStrictEqual } from 'node:util'

type Value = null | boolean | number | string | Value[] | { [key: string]: Value }

/** The values of changed settings. `null`: not set. */
export type Changes = Record<string, { before: Value; after: Value }>

/** The settings that differ between two records. */
export function changesOf(before: Record<string, Value>, after: Record<string, Value>): Changes {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  const changed = [...names].filter((name) => !isDeepStrictEqual(before[name], after[name]))
  return Object.fromEntries(
    changed.map((name) => [name, { before: before[name] ?? null, after: after[name] ?? null }]),
  )
}
