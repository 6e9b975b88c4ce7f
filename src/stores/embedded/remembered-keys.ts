import { hash } from 'node:crypto'
import { KEY_TTL } from '../../core/lifetimes.ts'
import { hexOf, timeOf } from '../../core/message-id.ts'
import { createKeyMemory } from './key-memory.ts'
import type { Sql } from './sql.ts'
import type { Writer } from './writer.ts'

/**
 * Idempotency keys of messages, events and jobs, kept for seven days with the id they produced.
 * `capacity`: keys in memory.
 */
export function createRememberedKeys(sql: Sql, writer: Writer, capacity = 196_608) {
  const keys = createKeyMemory(sql, writer, capacity)
  return {
    /** Its result is valid until the next call. */
    hash: createKeyHash(),
    /** The id that a key produced, if it is younger than seven days at `now`. */
    find: (key: Buffer, now: number): string | undefined => {
      const bytes = keys.find(key)
      const id = bytes && toId(bytes)
      return id && timeOf(id) > now - KEY_TTL ? id : undefined
    },
    /**
     * Inside a transaction only. The memory takes ids in hexadecimal, and returns them as bytes.
     */
    remember: (key: Buffer, id: string): void => keys.put(key, hexOf(id)),
    /** Removes expired keys from a slice of the index. Only inside a transaction. */
    sweep: keys.sweep,
  }
}

/**
 * Makes the function for the hash of a key, which is valid until the next call: SHA-256, cut to 128
 * bits.
 */
function createKeyHash() {
  const bytes = Buffer.alloc(16)
  /** The last space as JSON: there are few. */
  let last = { space: '', json: '""' }
  return (kind: 'message' | 'event' | 'job', space: string, key: string): Buffer => {
    if (space !== last.space) last = { space, json: JSON.stringify(space) }
    // JSON keeps the parts apart. The digest is made as text: a buffer for each would cost three
    // times as much as the digest.
    const digest = hash('sha256', `["${kind}",${last.json},${JSON.stringify(key)}]`, 'latin1')
    bytes.write(digest, 0, 16, 'latin1')
    return bytes
  }
}

function toId(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
