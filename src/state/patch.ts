import { isJsonObject, type Json, type JsonObject } from '../core/json.ts'

/** One step of an RFC 6902 JSON Patch; the three operations that a recorded change needs. */
export type Operation = { op: 'add' | 'replace'; path: string; value: Json } | { op: 'remove'; path: string }

/** The steps that turn `before` into `after`, in the order in which they apply. Empty: they are equal. */
export function diff(before: Json, after: Json): Operation[] {
  const operations: Operation[] = []
  compare(before, after, '', operations)
  return operations
}

/** Applies recorded steps and returns the result; `document` is changed. Throws where a step does not fit. */
export function applyPatch(document: Json, patch: readonly Operation[]): Json {
  let root = document
  for (const operation of patch) {
    if (operation.path === '') root = operation.op === 'remove' ? null : operation.value
    else applyOne(root, operation)
  }
  return root
}

function compare(before: Json, after: Json, path: string, out: Operation[]): void {
  if (before === after) return
  if (Array.isArray(before) && Array.isArray(after)) compareArrays(before, after, path, out)
  else if (isJsonObject(before) && isJsonObject(after)) compareObjects(before, after, path, out)
  else out.push({ op: 'replace', path, value: after })
}

function compareObjects(before: JsonObject, after: JsonObject, path: string, out: Operation[]): void {
  for (const key of Object.keys(before)) {
    if (!Object.hasOwn(after, key)) out.push({ op: 'remove', path: join(path, key) })
  }
  for (const [key, value] of Object.entries(after)) {
    const old = Object.hasOwn(before, key) ? before[key] : undefined
    if (old === undefined) out.push({ op: 'add', path: join(path, key), value })
    else compare(old, value, join(path, key), out)
  }
}

/** Equal ends are left alone, so that taking an element off the front of a long list stays one step. */
function compareArrays(before: Json[], after: Json[], path: string, out: Operation[]): void {
  const shorter = Math.min(before.length, after.length)
  let start = 0
  while (start < shorter && equal(before[start], after[start])) start += 1
  let tail = 0
  while (tail < shorter - start && equal(before.at(-1 - tail), after.at(-1 - tail))) tail += 1
  const [oldEnd, newEnd] = [before.length - tail, after.length - tail]
  const common = Math.min(oldEnd, newEnd)
  for (let index = start; index < common; index += 1) {
    compare(before[index] ?? null, after[index] ?? null, `${path}/${index}`, out)
  }
  for (let index = oldEnd - 1; index >= common; index -= 1)
    out.push({ op: 'remove', path: `${path}/${index}` })
  for (let index = common; index < newEnd; index += 1) {
    out.push({ op: 'add', path: `${path}/${index}`, value: after[index] ?? null })
  }
}

function equal(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((value, index) => equal(value, b[index]))
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return false
  return keys.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key]))
}

function applyOne(root: Json, operation: Operation): void {
  const steps = operation.path.split('/').slice(1).map(unescaped)
  const last = steps.pop() ?? ''
  let parent: Json | undefined = root
  for (const step of steps) parent = child(parent, step)
  if (Array.isArray(parent)) changeArray(parent, last, operation)
  else if (isJsonObject(parent)) changeObject(parent, last, operation)
  else throw misfit(operation)
}

function child(parent: Json | undefined, step: string): Json | undefined {
  if (Array.isArray(parent)) return parent[Number(step)]
  return isJsonObject(parent) && Object.hasOwn(parent, step) ? parent[step] : undefined
}

function changeArray(parent: Json[], step: string, operation: Operation): void {
  const index = Number(step)
  const end = operation.op === 'add' ? parent.length : parent.length - 1
  if (!Number.isInteger(index) || index < 0 || index > end) throw misfit(operation)
  if (operation.op === 'remove') parent.splice(index, 1)
  else if (operation.op === 'replace') parent[index] = operation.value
  else parent.splice(index, 0, operation.value)
}

function changeObject(parent: JsonObject, key: string, operation: Operation): void {
  if (operation.op !== 'add' && !Object.hasOwn(parent, key)) throw misfit(operation)
  if (operation.op === 'remove') delete parent[key]
  // Defined, not assigned: a key named __proto__ is data here.
  else
    Object.defineProperty(parent, key, {
      value: operation.value,
      enumerable: true,
      writable: true,
      configurable: true,
    })
}

function misfit(operation: Operation): Error {
  return new Error(`${operation.op} ${operation.path} does not fit the document`)
}

function join(path: string, key: string): string {
  return `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
}

function unescaped(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~')
}
