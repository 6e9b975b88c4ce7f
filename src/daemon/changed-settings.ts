import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type Json, toJson } from '../core/json.ts'

/** Settings by their path, such as `routes.orders.skill`. `null`: not set. */
export type Changes = Record<string, { before: Json; after: Json }>

/** Maximum number of settings in an entry. */
const MAX_SETTINGS = 40
/** Maximum characters of a value in an entry. */
const LONGEST_VALUE = 500

type Parts = ReadonlyMap<string, unknown>

/** The changed settings of the changed parts, up to a limit, with what was before and after. */
export function changesOf(names: readonly string[], parts: { before: Parts; after: Parts }): Changes {
  const found = names.flatMap((name) => [
    ...settingsIn(name, jsonOf(parts.before.get(name)), jsonOf(parts.after.get(name))),
  ])
  return Object.fromEntries(found.slice(0, MAX_SETTINGS))
}

function* settingsIn(
  path: string,
  before: Json,
  after: Json,
): Generator<[string, { before: Json; after: Json }]> {
  if (isDeepStrictEqual(before, after)) return
  if (!isJsonObject(before) || !isJsonObject(after)) {
    yield [path, { before: shortened(before), after: shortened(after) }]
    return
  }
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)]))
    yield* settingsIn(`${path}.${key}`, before[key] ?? null, after[key] ?? null)
}

function jsonOf(part: unknown): Json {
  return part === undefined ? null : toJson(part)
}

/** The value, or the beginning of its JSON if that is long. */
function shortened(value: Json): Json {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE - 1)}…` : value
}
