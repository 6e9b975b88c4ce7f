import { hash } from 'node:crypto'
import { slotOf } from './connect.ts'
import type { Layout } from './layout.ts'

/** Number of hash slots of a Redis Cluster. */
const SLOTS = 16_384

/** The hash tag of a shard, chosen so that shards are spread evenly over the slots and masters. */
export function tagOf(prefix: string, shard: number, shards: number): string {
  for (let n = 0; ; n++) {
    const tag = n === 0 ? `${prefix}:${shard}` : `${prefix}:${shard}.${n}`
    if (Math.floor((slotOf(tag) * shards) / SLOTS) === shard) return tag
  }
}

/** The key prefix of a shard. */
export function rootOf(prefix: string, shard: number, { madeOf }: Layout): string {
  const shards = madeOf(shard)
  return shards === 1 ? `{${prefix}}:` : `{${tagOf(prefix, shard, shards)}}:`
}

/** The channel of a store's signals, to which each daemon is subscribed. */
export const channelOf = (prefix: string) => `${prefix}:signals`

/**
 * 96 bits of SHA-256 in 16 characters: compact, and in practice free of collisions among digests of
 * the same number of parts.
 */
export function digest(...parts: readonly string[]): string {
  return hash('sha256', joined(parts), 'base64url').slice(0, 16)
}

/**
 * The parts as a JSON array, or the only part. Pairs are the most common; joining two texts takes
 * less time than serialising an array.
 */
function joined(parts: readonly string[]): string {
  const [first = '', second = ''] = parts
  if (parts.length === 1) return first
  return parts.length === 2 ? `[${JSON.stringify(first)},${JSON.stringify(second)}]` : JSON.stringify(parts)
}

/**
 * The name; or `~` and its digest if it is long or has characters that are not safe in a hash tag,
 * such as braces.
 */
export function slug(name: string): string {
  return /^[\w.:-]{1,100}$/.test(name) ? name : `~${digest(name)}`
}
