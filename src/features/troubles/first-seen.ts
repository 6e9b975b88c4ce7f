import { z } from 'zod'
import type { KeyValues } from '../../core/store.ts'
import type { Trouble } from '../../core/trouble.ts'
import { MINUTE } from '../../core/units.ts'

const PREFIX = 'trouble-since:'
/**
 * How long (ms) the start of a trouble is kept after it was last seen. It survives a restart of the
 * daemon and a short recovery.
 */
const RETENTION_MS = 15 * MINUTE
const RENEW_INTERVAL = RETENTION_MS / 5

/** Troubles whose start is not known otherwise, or would be the start of the daemon. */
const REMEMBERED = new Set<Trouble['code']>([
  'gateway-down',
  'queue-down',
  'mcp-down',
  'skill-broken',
  'budget',
  'disk-low',
  'shards-away',
  'messages-lost',
])

/**
 * Adds `since` to troubles without it: when a daemon first saw them. The store keeps that time, so
 * a restart does not change it. `mayRead`: whether the store is available.
 */
export function createFirstSeen(kv: Pick<KeyValues, 'get' | 'set'>, now: () => number) {
  /** By key of a trouble: its start, and when it was last written to the store (Unix ms). */
  const seen = new Map<string, { since: number; storedAt?: number }>()

  const remember = async ({ key, since = now() }: Trouble): Promise<void> => {
    const known = seen.get(key)
    if (known?.storedAt !== undefined && now() - known.storedAt < RENEW_INTERVAL) return
    const stored = known?.storedAt === undefined ? await storedSince(kv, key) : undefined
    const first = Math.min(since, known?.since ?? since, stored ?? since)
    const isStored = await kv.set(PREFIX + key, first, { ttl: RETENTION_MS }).then(
      () => true,
      () => false,
    )
    seen.set(key, { since: first, ...(isStored && { storedAt: now() }) })
  }

  return async (troubles: readonly Trouble[], mayRead: boolean): Promise<Trouble[]> => {
    const at = now()
    if (mayRead) await Promise.all(troubles.filter(({ code }) => REMEMBERED.has(code)).map(remember))
    const current = new Set(troubles.map(({ key }) => key))
    for (const key of seen.keys()) if (!current.has(key)) seen.delete(key)
    for (const { key, since = at } of troubles) if (!seen.has(key)) seen.set(key, { since })
    return troubles.map((trouble) => {
      const first = seen.get(trouble.key)?.since ?? at
      const isRemembered = REMEMBERED.has(trouble.code)
      return { ...trouble, since: isRemembered ? first : (trouble.since ?? first) }
    })
  }
}

/** When a trouble with this key began (Unix ms), if the store has it. */
export async function storedSince(kv: Pick<KeyValues, 'get'>, key: string): Promise<number | undefined> {
  return z.number().safeParse((await kv.get(PREFIX + key).catch(() => undefined))?.value).data
}
