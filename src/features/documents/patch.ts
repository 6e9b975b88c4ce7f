import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type Json } from '../../core/json.ts'
import type { Operation } from './spec.ts'

/** The JSON Patch from `before` to `after`, in order. Empty if they are equal. */
export function diff(before: Json, after: Json, path = ''): Operation[] {
  if (before === after) return []
  if (Array.isArray(before) && Array.isArray(after)) return diffArrays(before, after, path)
  // Patch libraries refuse paths with `__proto__`, so an object with this key is replaced as a
  // whole.
  const isPlain = ![before, after].some((value) => isJsonObject(value) && Object.hasOwn(value, '__proto__'))
  if (!isPlain || !isJsonObject(before) || !isJsonObject(after))
    return [{ op: 'replace', path, value: after }]
  // Maps, because an object also has inherited properties.
  const oldValues = new Map(Object.entries(before))
  const newValues = new Map(Object.entries(after))
  const keys = new Set([...oldValues.keys(), ...newValues.keys()])
  return [...keys].flatMap((key): Operation[] => {
    const keyPath = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
    const oldValue = oldValues.get(key)
    const newValue = newValues.get(key)
    if (newValue === undefined) return [{ op: 'remove', path: keyPath }]
    if (oldValue === undefined) return [{ op: 'add', path: keyPath, value: newValue }]
    return diff(oldValue, newValue, keyPath)
  })
}

/**
 * Replaces the elements between the equal start and the equal end. Most changes are of one element.
 */
function diffArrays(before: Json[], after: Json[], path: string): Operation[] {
  const shorter = Math.min(before.length, after.length)
  let start = 0
  while (start < shorter && isDeepStrictEqual(before[start], after[start])) start += 1
  let end = 0
  while (end < shorter - start && isDeepStrictEqual(before.at(-1 - end), after.at(-1 - end))) end += 1
  const removed = before.slice(start, before.length - end)
  const added = after.slice(start, after.length - end)
  return [
    // Each removal moves the next element to `start`.
    ...removed.map((): Operation => ({ op: 'remove', path: `${path}/${start}` })),
    ...added.map((value, index): Operation => ({ op: 'add', path: `${path}/${start + index}`, value })),
  ]
}

/**
 * Applies a patch to a document, which it changes. Throws at a step that does not fit; earlier
 * steps stay applied.
 */
export function applyPatch(document: Json, patch: readonly Operation[]): Json {
  return patch.reduce(applyOne, document)
}

function applyOne(document: Json, step: Operation): Json {
  const keys = step.path
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
  const key = keys.pop()
  if (key === undefined) return step.op === 'remove' ? misfit(step) : step.value
  const parent = keys.reduce((value: Json | undefined, name) => childOf(value, name), document)
  if (step.op !== 'add' && childOf(parent, key) === undefined) misfit(step)
  if (Array.isArray(parent)) applyToArray(parent, key, step)
  else applyToObject(parent, key, step)
  return document
}

function applyToObject(parent: Json | undefined, key: string, step: Operation): void {
  // Assigning `__proto__` to an object would not store data.
  if (!isJsonObject(parent) || key === '__proto__') misfit(step)
  else if (step.op === 'remove') delete parent[key]
  else parent[key] = step.value
}

function applyToArray(array: Json[], key: string, step: Operation): void {
  // RFC 6901: an array index has no leading zeros.
  const index = /^(0|[1-9]\d*)$/.test(key) ? Number(key) : array.length + 1
  if (index > array.length) misfit(step)
  if (step.op === 'remove') array.splice(index, 1)
  else array.splice(index, step.op === 'add' ? 0 : 1, step.value)
}

function childOf(parent: Json | undefined, key: string): Json | undefined {
  if (Array.isArray(parent)) return /^\d+$/.test(key) ? parent[Number(key)] : undefined
  return isJsonObject(parent) && Object.hasOwn(parent, key) ? parent[key] : undefined
}

function misfit({ op, path }: Operation): never {
  throw new Error(`the step ${op} ${path} does not fit`)
}
