import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { type Json, type JsonObject, pathGet } from '../../src/core/json.ts'

/**
 * A function of the delivery, or locations in it, separated by spaces. The first location that
 * leads to a non-empty text or a number counts. A location is `header.NAME`, `cookie.NAME` (its
 * value is hashed), `#` (the hash of the body) or a path in the body. In a path, `*` gives the
 * value that all items have in common (items without a value are ignored), and `+` joins the values
 * of all items.
 */
export type Pointers = string | ((delivery: ReadableDelivery) => string | undefined)

export type ReadableDelivery = {
  headers: IncomingHttpHeaders
  body?: Json | undefined
  text: string
  /** What the hash of the body is made of; by default of `text`. */
  fingerprint?: (() => string | Uint8Array) | undefined
  /** For an element of a split delivery: the fields around it. */
  envelope?: JsonObject | undefined
}

/** The value that the pointers lead to, as text; undefined if there is none. */
export function valueAt(pointers: Pointers | undefined, delivery: ReadableDelivery): string | undefined {
  if (typeof pointers === 'function') return pointers(delivery)
  if (pointers === undefined) return undefined
  for (const pointer of parseAll(pointers)) {
    const value = follow(pointer, delivery)
    if (value !== undefined) return value
  }
  return undefined
}

/** Like `valueAt`, but for the option `text`: a location with `""` or null gives an empty text. */
export function textAt(pointer: string | undefined, place: ReadableDelivery): string | undefined {
  const path = pointer?.replace(/^data\./, '')
  if (path === undefined) return undefined
  return valueAt(path, place) ?? (isEmptyAt(path, place) ? '' : undefined)
}

function isEmptyAt(pointer: string, { headers, body }: ReadableDelivery): boolean {
  const { header, path } = parseOne(pointer)
  const value = header === undefined ? pathGet(body, path) : headers[header]
  return value === '' || value === null
}

type Pointer = {
  header: string | undefined
  cookie: string | undefined
  path: string
  steps: readonly string[]
  /** Whether it leads to a single place in the body. */
  isPlain: boolean
}

/** Parsed pointers. Never cleared, because presets and options have only a few. */
const cache = new Map<string, Pointer[]>()

function parseAll(pointers: string): Pointer[] {
  const cached = cache.get(pointers)
  if (cached) return cached
  const parsed = pointers.split(' ').map(parseOne)
  cache.set(pointers, parsed)
  return parsed
}

function parseOne(path: string): Pointer {
  const [, kind, name] = /^(header|cookie)\.(.*)/.exec(path) ?? []
  return {
    path,
    header: kind === 'header' ? name?.toLowerCase() : undefined,
    cookie: kind === 'cookie' ? name : undefined,
    steps: path.split('.'),
    isPlain: path !== '#' && !/[*+]/.test(path),
  }
}

function follow(
  pointer: Pointer,
  { headers, body, text, fingerprint }: ReadableDelivery,
): string | undefined {
  const { header, cookie, path, steps, isPlain } = pointer
  if (header !== undefined) return asText(headers[header])
  if (cookie !== undefined) return hashOfCookie(headers.cookie, cookie)
  if (isPlain) return asText(pathGet(body, steps))
  if (path === '#') return `sha256:${hash('sha256', fingerprint?.() ?? text)}`
  const all = valuesAt(body, [...steps]).map(asText)
  if (path.includes('+')) return all.length > 0 && all.every(Boolean) ? all.join(' ') : undefined
  const [only, ...others] = new Set(all.filter(Boolean))
  return others.length === 0 ? only : undefined
}

function valuesAt(value: unknown, [step, ...rest]: string[]): unknown[] {
  if (step === undefined) return [value]
  if (step !== '*' && step !== '+') return valuesAt(pathGet(value, step), rest)
  const items = typeof value === 'object' && value !== null ? Object.values(value) : []
  return items.flatMap((item) => valuesAt(item, rest))
}

/** A non-empty text, or a number as text. */
function asText(value: unknown): string | undefined {
  if (typeof value === 'string' && value !== '') return value
  // Both 1e400 and 1e401 would be `Infinity`.
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : undefined
}

/** A cookie may be a credential, so readers of messages and logs only get its hash. */
function hashOfCookie(header: string | undefined, name: string): string | undefined {
  const start = `${name}=`
  const pair = header?.split(/;\s*/).find((each) => each.startsWith(start))
  const value = pair?.slice(start.length).replace(/^"(.*)"$/, '$1')
  return value ? `cookie:${hash('sha256', value).slice(0, 32)}` : undefined
}
