import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'

/** One step of an RFC 6902 JSON Patch; the three operations that a recorded change needs. */
export type Operation = { op: 'add' | 'replace'; path: string; value: Json } | { op: 'remove'; path: string }

/** The steps that turn `before` into `after`, in the order in which they apply. Empty: they are equal. */
export function diff(before: Json, after: Json, path = ''): Operation[] {
  if (before === after) return []
  if (Array.isArray(before) && Array.isArray(after)) return diffArrays(before, after, path)
  if (isJsonObject(before) && isJsonObject(after)) return diffObjects(before, after, path)
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

/** Equal ends are left alone, so that taking an element off the front of a long list stays one step. */
function diffArrays(before: Json[], after: Json[], path: string): Operation[] {
  const shorter = Math.min(before.length, after.length)
  let start = 0
  while (start < shorter && isDeepStrictEqual(before[start], after[start])) start += 1
  let tail = 0
  while (tail < shorter - start && isDeepStrictEqual(before.at(-1 - tail), after.at(-1 - tail))) tail += 1
  const [oldEnd, newEnd] = [before.length - tail, after.length - tail]
  const common = Math.min(oldEnd, newEnd)
  const steps: Operation[] = []
  for (let index = start; index < common; index += 1) {
    steps.push(...diff(before[index] ?? null, after[index] ?? null, `${path}/${index}`))
  }
  for (let index = oldEnd - 1; index >= common; index -= 1)
    steps.push({ op: 'remove', path: `${path}/${index}` })
  for (let index = common; index < newEnd; index += 1) {
    steps.push({ op: 'add', path: `${path}/${index}`, value: after[index] ?? null })
  }
  return steps
}

/** Applies recorded steps and returns the result; `document` is changed. Throws where a step does not fit. */
export function applyPatch(document: Json, patch: readonly Operation[]): Json {
  // A holder, so that the whole document has a place like any other.
  const holder: JsonObject = { document }
  for (const operation of patch) applyOne(holder, operation)
  return holder.document ?? null
}

function applyOne(holder: JsonObject, operation: Operation): void {
  const steps = `document${operation.path}`.split('/').map(unescaped)
  const last = steps.pop() ?? ''
  let parent: Json | undefined = holder
  for (const step of steps) parent = child(parent, step)
  const isThere = child(parent, last) !== undefined
  const value = operation.op === 'remove' ? null : operation.value
  if (Array.isArray(parent) && (isThere || (operation.op === 'add' && Number(last) === parent.length))) {
    parent.splice(Number(last), operation.op === 'add' ? 0 : 1, ...(operation.op === 'remove' ? [] : [value]))
  } else if (isJsonObject(parent) && (isThere || operation.op === 'add')) {
    if (operation.op === 'remove') delete parent[last]
    // Defined, not assigned: a key named __proto__ is data here.
    else Object.defineProperty(parent, last, { value, enumerable: true, writable: true, configurable: true })
  } else throw new Error(`${operation.op} ${operation.path} does not fit the document`)
}

function child(parent: Json | undefined, step: string): Json | undefined {
  if (Array.isArray(parent)) return parent[Number(step)]
  return isJsonObject(parent) && Object.hasOwn(parent, step) ? parent[step] : undefined
}

function join(path: string, key: string): string {
  return `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
}

function unescaped(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~')
}
