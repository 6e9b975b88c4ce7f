import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'

/** One step of an RFC 6902 JSON Patch; the three operations that a recorded change needs. */
export type Operation = { op: 'add' | 'replace'; path: string; value: Json } | { op: 'remove'; path: string }

/** The steps that turn `before` into `after`, in the order in which they apply. Empty: they are equal. */
export function diff(before: Json, after: Json, path = ''): Operation[] {
  if (before === after) return []
  if (Array.isArray(before) && Array.isArray(after)) return diffArrays(before, after, path)
  // In no path: it is data here, and whoever replays a patch refuses it.
  const isPlain = ![before, after].some((value) => isJsonObject(value) && Object.hasOwn(value, '__proto__'))
  if (isPlain && isJsonObject(before) && isJsonObject(after)) return diffObjects(before, after, path)
  return [{ op: 'replace', path, value: after }]
}

function diffObjects(before: JsonObject, after: JsonObject, path: string): Operation[] {
  const removed = Object.keys(before).filter((key) => !Object.hasOwn(after, key))
  return [
    ...removed.map((key): Operation => ({ op: 'remove', path: join(path, key) })),
    ...Object.entries(after).flatMap(([key, value]): Operation[] => {
      const old = Object.hasOwn(before, key) ? before[key] : undefined
      return old === undefined
        ? [{ op: 'add', path: join(path, key), value }]
        : diff(old, value, join(path, key))
    }),
  ]
}

/** What differs between the equal ends is taken out and put in whole: most changes touch one element. */
function diffArrays(before: Json[], after: Json[], path: string): Operation[] {
  const shorter = Math.min(before.length, after.length)
  let start = 0
  while (start < shorter && isDeepStrictEqual(before[start], after[start])) start += 1
  let tail = 0
  while (tail < shorter - start && isDeepStrictEqual(before.at(-1 - tail), after.at(-1 - tail))) tail += 1
  return [
    ...before
      .slice(start, before.length - tail)
      .map((): Operation => ({ op: 'remove', path: `${path}/${start}` })),
    ...after
      .slice(start, after.length - tail)
      .map((value, index): Operation => ({ op: 'add', path: `${path}/${start + index}`, value })),
  ]
}

function join(path: string, key: string): string {
  return `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
}
