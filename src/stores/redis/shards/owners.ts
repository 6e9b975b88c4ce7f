import { randomUUID } from 'node:crypto'
import { allKeys } from '../../../core/all-keys.ts'
import type { Log } from '../../../core/log.ts'
import type { KeyValues, Leases, Store } from '../../../core/store.ts'
import { createLoop } from '../../../lib/loop.ts'
import { LEASES } from '../../shared/leases.ts'

/** Duration (ms) of a lease on a shard. */
const LEASE_TIME = 4_000
/** Interval (ms) at which leases are renewed. */
const RENEW_INTERVAL = 1_300
/** Prefix of the leases by which running daemons are counted. */
const MEMBERS = 'shards/daemon/'
/** Written when a daemon gives up shards, so that others take them at once. */
const TURN = 'shards/turn'

/**
 * Distributes the dispatch of shards evenly over the dispatching daemons, by leases. The leases
 * only decide who reads a shard. The shard's own tokens ensure that a cursor moves once and a job
 * is claimed once, so a slow daemon does no harm. `changed` gets the shards of this daemon.
 */
export function createOwners(options: {
  of: number
  kv: KeyValues
  leases: Leases
  onSignal: Store['onSignal']
  changed(own: ReadonlySet<number>): Promise<void>
  log: Log
}) {
  const { of, kv, leases, log } = options
  const me = randomUUID()
  const own = new Set<number>()
  const all = Array.from({ length: of }, (_, shard) => shard)
  const leaseOf = (shard: number) => `shards/${shard}`
  let begun: Promise<void> | undefined
  /** The shards in the last call of `changed`. */
  let reported = ''
  let off = () => {}

  const takeShare = async () => {
    const { place, count } = await shareOf(options, me)
    const kept = await Promise.all([...own].map(async (shard) => ({ shard, lease: await take(shard) })))
    for (const { shard, lease } of kept) if (!lease) own.delete(shard)
    const surplus = [...own].slice(count)
    await giveUp(surplus)
    // Each daemon begins elsewhere, so that few try the same shards.
    const start = Math.max(0, place) * count
    for (const index of all) {
      if (own.size >= count) break
      const shard = (start + index) % of
      if (!own.has(shard) && (await take(shard))) own.add(shard)
    }
    const current = [...own].join()
    if (current !== reported) await options.changed(own)
    reported = current
  }
  const take = (shard: number) => leases.acquire(leaseOf(shard), me, LEASE_TIME)
  const giveUp = async (shards: readonly number[]) => {
    for (const shard of shards) own.delete(shard)
    await Promise.all(shards.map((shard) => leases.release(leaseOf(shard), me)))
    if (shards.length > 0) await kv.set(TURN, Date.now(), { ttl: LEASE_TIME })
  }
  const loop = createLoop({
    async step() {
      await takeShare()
      return RENEW_INTERVAL
    },
    failed: (err) => log.warn({ err }, 'the leases on shards cannot be renewed; trying again'),
    pause: RENEW_INTERVAL,
  })

  return {
    own: own as ReadonlySet<number>,
    /** Takes part from the first call on. Resolves when this daemon has its first shards. */
    begin(): Promise<void> {
      begun ??= takeShare().then(() => {
        off = options.onSignal(`kv:${TURN}`, loop.wake)
        loop.start()
      })
      begun.catch(() => {
        begun = undefined
      })
      return begun
    },
    async stop(): Promise<void> {
      if (!begun) return
      off()
      await begun.catch(() => {})
      await loop.stop()
      await leases.release(MEMBERS + me, me)
      await giveUp([...own])
    },
  }
}

/**
 * `count`: the number of shards for this daemon; if they cannot be divided evenly, some daemons get
 * one more. `place`: its place among the daemons; -1 if unknown.
 */
async function shareOf(
  { of, kv, leases }: { of: number; kv: KeyValues; leases: Leases },
  me: string,
): Promise<{ place: number; count: number }> {
  await leases.acquire(MEMBERS + me, me, LEASE_TIME)
  const daemons = await allKeys(kv, LEASES + MEMBERS)
  const place = daemons.indexOf(LEASES + MEMBERS + me)
  const isOneMore = place >= 0 && place < of % daemons.length
  const least = Math.floor(of / Math.max(1, daemons.length))
  return { place, count: isOneMore ? least + 1 : least }
}
