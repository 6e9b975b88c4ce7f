import { hash } from 'node:crypto'
import { MESSAGE_TOPIC } from '../../core/event.ts'

/**
 * Where things lie. All keys of a root share one hash tag, hence one slot of a cluster and one atomic
 * step: the journal, what may be received, and all jobs under one; each other topic under its own; keys
 * and values under one, so that listing by prefix is an index and not a scan of every node.
 */
export type Roots = ReturnType<typeof createRoots>

export function createRoots(prefix: string) {
  const main = `{${prefix}}:`
  return {
    main,
    kv: `{${prefix}:kv}:`,
    topic: (name: string) => (name === MESSAGE_TOPIC ? main : `{${prefix}:topic:${slug(name)}}:`),
  }
}

/**
 * 96 bits of SHA-256 over parts that cannot run into each other, in 16 characters: long enough that two
 * keys never meet, short enough for Redis to keep millions of them compactly.
 */
export function digest(...parts: readonly string[]): string {
  const text = parts.length === 1 ? (parts[0] ?? '') : JSON.stringify(parts)
  return hash('sha256', text, 'base64url').slice(0, 16)
}

/** A name that may hold anything, as a part of a hash tag: braces would end the tag. */
function slug(name: string): string {
  return /^[\w.:-]{1,100}$/.test(name) ? name : `~${digest(name)}`
}
