import { TriviumError } from '../../src/core/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/core/json.ts'

/** One element of a split delivery. `envelope`: the scalar fields of the objects around it. */
export type Part = { body: Json; envelope?: JsonObject }

/** Maximum messages per delivery. Meta sends up to 1,000, SendGrid up to 768 KB. */
const MAX_PARTS = 5_000

/**
 * The elements of the list at a path such as `events` or `entry.*.changes`, where `*` stands for
 * each item of a list. An item without the rest of the path is an element itself, so that nothing
 * is lost. Undefined if there is no such list.
 */
export function partsAt(body: Json | undefined, path: string): Part[] | undefined {
  const steps = path === '' ? [] : path.replaceAll('[]', '.*').split('.')
  const parts: Part[] = []
  const hasList = body !== undefined && collect(body, steps, (inner) => inner, parts)
  return hasList ? parts : undefined
}

/**
 * Adds the elements at a path below `value` to `parts`. `wrap` adds the fields of the objects
 * around `value` to an envelope. Returns false if the path leads to no list.
 */
function collect(
  value: Json,
  steps: string[],
  wrap: (inner: JsonObject) => JsonObject,
  parts: Part[],
): boolean {
  const [step, ...rest] = steps
  if (step === undefined || (step === '*' && rest.length === 0)) {
    if (!Array.isArray(value)) return false
    for (const item of value) parts.push(part(item, wrap({})))
    return true
  }
  if (step === '*') {
    if (!Array.isArray(value)) return false
    for (const item of value) if (!collect(item, rest, wrap, parts)) parts.push(part(item, wrap({})))
    return true
  }
  if (!isJsonObject(value)) return false
  const next = Object.hasOwn(value, step) ? value[step] : undefined
  if (next === undefined) return false
  const around = scalarsOf(value)
  return collect(
    next,
    rest,
    (inner) => wrap({ ...around, ...(isEmpty(inner) ? {} : { [step]: inner }) }),
    parts,
  )
}

/** In characters of JSON. */
const MAX_ENVELOPE = 4_096

/** Makes an element. Omits an envelope that is too large to repeat in each message. */
export function part(body: Json, envelope: JsonObject): Part {
  return isEmpty(envelope) || JSON.stringify(envelope).length > MAX_ENVELOPE ? { body } : { body, envelope }
}

/** The scalar fields of an object. */
export function scalarsOf(value: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(value).filter(([, one]) => typeof one !== 'object' && one !== null),
  )
}

function isEmpty(value: JsonObject): boolean {
  return Object.keys(value).length === 0
}

/** Throws `limit_reached` if there are more messages than the store accepts in one step. */
export function requirePartCount(parts: readonly Part[]): void {
  if (parts.length <= MAX_PARTS) return
  const what = `A delivery with ${parts.length} elements`
  throw new TriviumError('limit_reached', { what, limit: MAX_PARTS, todo: 'Send fewer at a time.' })
}

/** Maximum total bytes of the messages of a delivery, including repeated envelopes. */
const MAX_TOTAL = 32 * 1024 * 1024

/** Throws `limit_reached` for a delivery that would become much larger when it is split. */
export function requireTotalSize(size: number): void {
  if (size <= MAX_TOTAL) return
  const what = 'The total size of the messages of a delivery, each with its headers'
  throw new TriviumError('limit_reached', { what, limit: '32 MB', todo: 'Send fewer at a time.' })
}
