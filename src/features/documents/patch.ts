import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type Json } from '../../core/json.ts'
import type { Operation } from './spec.ts'

/** The JSON Patch from `before` to `after`, in order. Empty if they are equal. */
export function diff(before: Json, after: Json, path = ''): Operation[] {
  if (before === after) return []
  if (Array.isArray(before) && Array.isArray(after)) return diffArrays(before, after, path)
  // A path must not contain `__proto__`: it is data here, but patch libraries refuse it.
  const isPlain = ![before, after].some((value) => isJsonObject(value) && Object.hasOwn(value, '__proto__'))
  if (!isPlain || !isJsonObject(before) || !isJsonObject(after))
    return [{ op: 'replace', path, value: after }]
  const [old, given] = [new Map(Object.entries(before)), new Map(Object.entries(after))]
  return [...new Map([...old, ...given]).keys()].flatMap((key): Operation[] => {
    const at = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
    const [was, value] = [old.get(key), given.get(key)]
    if (value === undefined) return [{ op: 'remove', path: at }]
    return was === undefined ? [{ op: 'add', path: at, value }] : diff(was, value, at)
  })
}

/** Replaces everything between the equal ends at once, as most changes concern one element. */
function diffArrays(before: Json[], after: Json[], path: string): Operation[] {
  const shorter = Math.min(before.length, after.length)
  let start = 0
  while (start < shorter && isDeepStrictEqual(before[start], after[start])) start += 1
  let tail = 0
  while (tail < shorter - start && isDeepStrictEqual(before.at(-1 - tail), after.at(-1 - tail))) tail += 1
  const removed = before.slice(start, before.length - tail)
  const added = after.slice(start, after.length - tail)
  return [
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
  const parent = keys.reduce((value: Json | undefined, each) => childOf(value, each), document)
  if (step.op !== 'add' && childOf(parent, key) === undefined) misfit(step)
  if (Array.isArray(parent)) applyToArray(parent, key, step)
  // Assigning `__proto__` to an object would not store data.
  else if (!isJsonObject(parent) || key === '__proto__') misfit(step)
  else if (step.op === 'remove') delete parent[key]
  else parent[key] = step.value
  return document
}

function applyToArray(array: Json[], key: string, step: Operation): void {
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
