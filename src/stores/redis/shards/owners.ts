import { randomUUID } from 'node:crypto'
import type { Log } from '../../../core/log.ts'
import type { KeyValues, Leases, Store } from '../../../core/store.ts'
import { createLoop } from '../../../lib/loop.ts'
import { LEASES } from '../../shared/leases.ts'

/** The shards whose dispatch is this daemon's, for the length of `TTL` ms from each look, of which there is one every `EVERY` ms. */
const TTL = 4_000
const EVERY = 1_300
const MEMBERS = 'shards/daemon/'
/** Written where a shard was given up: others need not wait for their next look. */
const TURN = 'shards/turn'
const MOST_DAEMONS = 1_000

/**
 * Spreads the dispatch of shards evenly over the daemons that dispatch, under leases. These only say who looks: that a cursor moves
 * once and that a job is claimed once is sure by the tokens of the shard itself, so that nobody who was too slow does harm.
 * `changed` is told of what is this daemon's.
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
  /** What `changed` was told of. */
  let told = ''
  let off = () => {}

  /** How many are this daemon's: as many as another's, or one more. */
  const share = async () => {
    await leases.acquire(MEMBERS + me, me, TTL)
    const daemons = await kv.list(LEASES + MEMBERS, MOST_DAEMONS)
    const place = daemons.indexOf(LEASES + MEMBERS + me)
    const rest = place >= 0 && place < of % daemons.length ? 1 : 0
    return { place, count: Math.floor(of / Math.max(1, daemons.length)) + rest }
  }
  const look = async () => {
    const { place, count } = await share()
    const kept = await Promise.all([...own].map(async (shard) => ({ shard, lease: await take(shard) })))
    for (const { shard, lease } of kept) if (!lease) own.delete(shard)
    const surplus = [...own].slice(count)
    await giveUp(surplus)
    // Each begins elsewhere, so that few want the same.
    const start = Math.max(0, place) * count
    for (const index of all) {
      if (own.size >= count) break
      const shard = (start + index) % of
      if (!own.has(shard) && (await take(shard))) own.add(shard)
    }
    const now = [...own].join()
    if (now !== told) await options.changed(own)
    told = now
  }
  const take = (shard: number) => leases.acquire(leaseOf(shard), me, TTL)
  const giveUp = async (shards: readonly number[]) => {
    for (const shard of shards) own.delete(shard)
    await Promise.all(shards.map((shard) => leases.release(leaseOf(shard), me)))
    if (shards.length > 0) await kv.set(TURN, Date.now(), { ttl: TTL })
  }
  const loop = createLoop({
    async step() {
      await look()
      return EVERY
    },
    failed: (err) => log.warn({ err }, 'the shards of this daemon cannot be renewed; trying again'),
    pause: EVERY,
  })

  return {
    own: own as ReadonlySet<number>,
    /** Takes part from the first call on; resolves when the first shards are this daemon's. */
    begin(): Promise<void> {
      begun ??= look().then(() => {
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

/** Where there may be something to do, as far as it was heard of: of dispatch only on what is this daemon's. */
export type Owned = ReturnType<typeof createOwned>

export function createOwned(
  of: number,
  owners: ReturnType<typeof createOwners>,
  onSignal: Store['onSignal'],
) {
  const toPump = new Set<number>()
  const queues = new Map<string, { open: Set<number>; due: Map<number, number> }>()
  const all = Array.from({ length: of }, (_, shard) => shard)
  let turn = 0
  const hear = (open: Set<number>) => (shard?: number) => {
    for (const each of shard === undefined ? all : [shard]) open.add(each)
  }
  const isMine = (queue: string, shard: number) => queue !== 'dispatch' || owners.own.has(shard)
  const stateOf = (queue: string) => {
    const known = queues.get(queue)
    if (known) return known
    const state = { open: new Set(all), due: new Map<number, number>() }
    queues.set(queue, state)
    onSignal(`jobs:${queue}`, hear(state.open))
    return state
  }
  /** In turns, so that none waits for ever. */
  const turned = () => {
    turn = (turn + 1) % of
    return [...all.slice(turn), ...all.slice(0, turn)]
  }
  onSignal('journal', hear(toPump))
  hear(toPump)()

  return {
    /** A shard of which there may be messages to pump. */
    async nextToPump(): Promise<number | undefined> {
      await owners.begin()
      return turned().find((shard) => toPump.has(shard) && owners.own.has(shard))
    },
    /** Whether there may be messages to pump on any. */
    hasToPump: () => [...toPump].some((shard) => owners.own.has(shard)),
    pumps: (shard: number) => void toPump.delete(shard),
    mayPump: (shard: number) => void toPump.add(shard),
    async claimable(queue: string, now: number): Promise<number[]> {
      if (queue === 'dispatch') await owners.begin()
      const { open, due } = stateOf(queue)
      const isDue = (shard: number) => (due.get(shard) ?? Number.POSITIVE_INFINITY) <= now
      return turned().filter((shard) => isMine(queue, shard) && (open.has(shard) || isDue(shard)))
    },
    mayClaim: (queue: string, shard: number) => void stateOf(queue).open.add(shard),
    /** Something was put back on a queue that is not named. */
    mayClaimAny(shard: number): void {
      for (const { open } of queues.values()) open.add(shard)
    },
    asked: (queue: string, shard: number) => void stateOf(queue).open.delete(shard),
    dueAt(queue: string, shard: number, time: number | undefined): void {
      if (time === undefined) stateOf(queue).due.delete(shard)
      else stateOf(queue).due.set(shard, time)
    },
    nextDue(queue: string): number | undefined {
      const times = [...stateOf(queue).due].filter(([shard]) => isMine(queue, shard)).map(([, time]) => time)
      return times.length > 0 ? Math.min(...times) : undefined
    },
    /** These are this daemon's now: what happened on them before was not heard. */
    begun(own: ReadonlySet<number>): void {
      for (const shard of own) {
        toPump.add(shard)
        stateOf('dispatch').open.add(shard)
      }
    },
  }
}
