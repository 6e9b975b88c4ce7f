import { z } from 'zod'
import type { Log } from '../core/log.ts'
import { isStoreAway } from '../core/reachable.ts'
import type { KeyValues } from '../core/store.ts'
import { MINUTE } from '../core/units.ts'

/** The last `gateway-receive` for a gateway, and when (Unix ms). */
export type LastPull = { by: string; at: number }

const PREFIX = 'pulled:'
/** The name in the key for calls that take from every gateway. */
const EVERY = ''
/** Minimum interval (ms) between two records of a gateway. */
const INTERVAL = MINUTE
/** How long (ms) a record is cached: the state of the roads is read every second. */
const LIFETIME = 10_000
const recordSchema = z.object({ by: z.string(), at: z.number() })

export type LastPulls = ReturnType<typeof createLastPulls>

/**
 * Who last called `gateway-receive` for each gateway, in the store, so that all daemons know it,
 * also after a restart. There it is accurate to a minute; in this daemon exactly. A call with a
 * conversation does not count: skills use it to continue a dialogue.
 */
export function createLastPulls(deps: {
  kv: Pick<KeyValues, 'get' | 'set'>
  log: Log
  now(): number
  /** How long (ms) a gateway counts as pulled after a call: as long as its messages are retained. */
  retention(): number
}) {
  const { kv, log, now } = deps
  const pulls = new Map<string, LastPull>()
  const stored = new Map<string, number>()
  const kept = new Map<string, { readAt: number; pull: LastPull | undefined }>()

  async function lastOf(gateway: string): Promise<LastPull | undefined> {
    const own = pulls.get(gateway)
    let cached = kept.get(gateway)
    if (!cached || Math.abs(now() - cached.readAt) >= LIFETIME) {
      cached = { readAt: now(), pull: await storedPull(gateway, cached?.pull) }
      kept.set(gateway, cached)
    }
    return later(own, cached.pull)
  }

  /** While the store, or the part with this record, is away: what was known before. */
  async function storedPull(gateway: string, known: LastPull | undefined): Promise<LastPull | undefined> {
    try {
      const { value } = (await kv.get(`${PREFIX}${gateway}`)) ?? {}
      return recordSchema.safeParse(value).data
    } catch (error) {
      if (!isStoreAway(error)) throw error
      return known
    }
  }

  return {
    /** Notes a call. `gateway`: undefined if it takes from every gateway. */
    note(gateway: string | undefined, by: string): void {
      const name = gateway ?? EVERY
      const at = now()
      pulls.set(name, { by, at })
      if (Math.abs(at - (stored.get(name) ?? Number.NEGATIVE_INFINITY)) < INTERVAL) return
      stored.set(name, at)
      kv.set(`${PREFIX}${name}`, { by, at }, { ttl: deps.retention() }).catch((err) => {
        log.debug({ err, gateway }, 'the last pull of a gateway could not be stored')
      })
    },
    /** The last call that takes from a gateway; undefined if it does not count as pulled. */
    async of(gateway: string): Promise<LastPull | undefined> {
      const last = later(await lastOf(gateway), await lastOf(EVERY))
      return last && now() - last.at < deps.retention() ? last : undefined
    },
  }
}

function later(one: LastPull | undefined, other: LastPull | undefined): LastPull | undefined {
  return one && (!other || one.at >= other.at) ? one : other
}
