import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { type Json, type JsonObject, pathGet } from '../../src/core/json.ts'

/**
 * Where something is found in a delivery: pointers separated by blanks, of which the first that leads to a text or a number
 * counts. `header.NAME`; `cookie.NAME`, of which only a hash is told; a path in the body, in which `*` stands for all items that have the rest, where they say the same,
 * and `+` for what each item says, as one; `#` for the hash of the body. Or what a function makes of the delivery.
 */
export type Pointers = string | ((delivery: Readable) => string | undefined)

export type Readable = {
  headers: IncomingHttpHeaders
  body?: Json | undefined
  text: string
  /** Of one element of a delivery: what stands around it. */
  envelope?: JsonObject | undefined
}

/** What the pointers lead to, as text. */
export function found(pointers: Pointers | undefined, delivery: Readable): string | undefined {
  if (typeof pointers === 'function') return pointers(delivery)
  if (pointers === undefined) return undefined
  for (const pointer of parsed(pointers)) {
    const value = follow(pointer, delivery)
    if (value !== undefined) return value
  }
  return undefined
}

/** What `text` points to: an empty text or null is an empty text, nothing there is undefined. */
export function wordsAt(pointer: string | undefined, place: Readable): string | undefined {
  const path = pointer?.replace(/^data\./, '')
  if (path === undefined) return undefined
  return found(path, place) ?? (isEmptyAt(path, place) ? '' : undefined)
}

function isEmptyAt(pointer: string, { headers, body }: Readable): boolean {
  const { header, path } = parse(pointer)
  const value = header === undefined ? pathGet(body, path) : headers[header]
  return value === '' || value === null
}

type Pointer = {
  header: string | undefined
  cookie: string | undefined
  path: string
  steps: readonly string[]
  /** It leads to one place in the body. */
  isPlain: boolean
}

/** Presets and options name a few pointers, and each delivery follows them. */
const known = new Map<string, Pointer[]>()

function parsed(pointers: string): Pointer[] {
  const found = known.get(pointers) ?? pointers.split(' ').map(parse)
  known.set(pointers, found)
  return found
}

function parse(path: string): Pointer {
  const [, kind, name] = /^(header|cookie)\.(.*)/.exec(path) ?? []
  return {
    path,
    header: kind === 'header' ? name?.toLowerCase() : undefined,
    cookie: kind === 'cookie' ? name : undefined,
    steps: path.split('.'),
    isPlain: path !== '#' && !/[*+]/.test(path),
  }
}

function follow(pointer: Pointer, { headers, body, text }: Readable): string | undefined {
  const { header, cookie, path, steps, isPlain } = pointer
  if (header !== undefined) return asText(headers[header])
  if (cookie !== undefined) return hashOfCookie(headers.cookie, cookie)
  if (isPlain) return asText(pathGet(body, steps))
  if (path === '#') return `sha256:${hash('sha256', text)}`
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

/** A text that says something, or a number, as text. */
function asText(value: unknown): string | undefined {
  if (typeof value === 'string' && value !== '') return value
  // 1e400 and 1e401 would both be `Infinity`.
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : undefined
}

/** A cookie may be what lets its owner in: who reads messages or logs must not be able to use it. */
function hashOfCookie(header: string | undefined, name: string): string | undefined {
  const start = `${name}=`
  const pair = header?.split(/;\s*/).find((each) => each.startsWith(start))
  const value = pair?.slice(start.length).replace(/^"(.*)"$/, '$1')
  return value ? `cookie:${hash('sha256', value).slice(0, 32)}` : undefined
}
