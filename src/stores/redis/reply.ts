import { TriviumError } from '../../core/errors.ts'

/** Reads an array out of a reply of Redis. Throws `store_unreadable` for anything else. */
export function listOf(reply: unknown): unknown[] {
  if (!Array.isArray(reply)) throw unexpected('a list', reply)
  return reply
}

export function textOf(reply: unknown): string {
  if (typeof reply === 'string') return reply
  if (typeof reply === 'number') return String(reply)
  throw unexpected('a text', reply)
}

/** A number, also one that Redis returned as text. */
export function numberOf(reply: unknown): number {
  const number = typeof reply === 'string' && reply !== '' ? Number(reply) : reply
  if (typeof number !== 'number' || Number.isNaN(number)) throw unexpected('a number', reply)
  return number
}

/** Lua's false arrives as null. */
export function isNothing(reply: unknown): boolean {
  return reply === null || reply === undefined
}

/** The pairs of a flat list `name, value, …`. */
export function fieldsOf(reply: unknown): Map<string, string> {
  const flat = listOf(reply)
  const fields = new Map<string, string>()
  for (let i = 0; i < flat.length; i += 2) fields.set(textOf(flat[i]), textOf(flat[i + 1]))
  return fields
}

function unexpected(what: string, reply: unknown): TriviumError {
  const shown = JSON.stringify(reply)?.slice(0, 80) ?? 'nothing'
  return new TriviumError('store_unreadable', { store: 'Redis', reason: `expected ${what}, found ${shown}` })
}
