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

/**
 * What went wrong in a call to Redis, as an error of the catalogue: `store_unavailable` for everything
 * that may pass (the connection, a timeout, a restart, a failover, full memory), `store_unreadable` where
 * keys hold something that Trivium did not write.
 */
export function toStoreError(error: unknown, address: string): TriviumError {
  if (error instanceof TriviumError) return error
  const text = error instanceof Error ? error.message : String(error)
  const reason = NO_CONNECTION.test(text)
    ? 'no connection'
    : text.replace(/.*timed out.*/, 'it did not answer in time')
  const foreign = /WRONGTYPE|data string too short/.test(text) ? 'store_unreadable' : 'internal'
  const code = MAY_PASS.test(reason) ? 'store_unavailable' : foreign
  return new TriviumError(code, { store: address, reason }, { cause: error })
}

/** Whether a command failed before it was sent, as all do while there is no connection. */
export function wasNotSent(error: TriviumError): boolean {
  return error.cause instanceof Error && error.cause.message.includes('enableOfflineQueue options is false')
}

/** What ioredis and the system say; Redis itself tells in a sentence what is wrong. */
const NO_CONNECTION =
  /Stream isn't writeable|onnection is closed|ECONN|ETIMEDOUT|EPIPE|ENOTFOUND|EHOSTUNREACH|EAI_AGAIN|max retries per request|aborted due to connection/
const MAY_PASS =
  /no connection|it did not answer|All sentinels|Cluster isn't ready|refresh slots|redirections|LOADING|READONLY|\bOOM\b|MISCONF|CLUSTERDOWN|MASTERDOWN|NOREPLICAS|UNBLOCKED|replica instances|TRYAGAIN|MOVED|ASK|EMPTY|nobody waits|BUSY|NOAUTH|WRONGPASS|NOPERM|user executing the script|certificate|altnames|SSL/
