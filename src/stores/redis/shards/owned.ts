import type { Store } from '../../../core/store.ts'
import type { createOwners } from './owners.ts'

/** The shards that may have work, by the signals so far; for dispatch only those of this daemon. */
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
  const marks = (open: Set<number>) => (shard?: number) => {
    for (const each of shard === undefined ? all : [shard]) open.add(each)
  }
  const isMine = (queue: string, shard: number) => queue !== 'dispatch' || owners.own.has(shard)
  const stateOf = (queue: string) => {
    const known = queues.get(queue)
    if (known) return known
    const state = { open: new Set(all), due: new Map<number, number>() }
    queues.set(queue, state)
    onSignal(`jobs:${queue}`, marks(state.open))
    return state
  }
  /** All shards, each time beginning with the next one, so that none waits indefinitely. */
  const turned = () => {
    turn = (turn + 1) % of
    return [...all.slice(turn), ...all.slice(0, turn)]
  }
  onSignal('journal', marks(toPump))
  marks(toPump)()

  return {
    /** A shard that may have messages to pump. */
    async nextToPump(): Promise<number | undefined> {
      await owners.begin()
      return turned().find((shard) => toPump.has(shard) && owners.own.has(shard))
    },
    /** Whether any shard may have messages to pump. */
    hasToPump: () => [...toPump].some((shard) => owners.own.has(shard)),
    /** Called before the messages of a shard are read. */
    pumps: (shard: number) => void toPump.delete(shard),
    /** Called when a shard may have messages to pump. */
    mayPump: (shard: number) => void toPump.add(shard),
    /** The shards that may have jobs to claim, in the order in which to ask them. */
    async claimable(queue: string, now: number): Promise<number[]> {
      if (queue === 'dispatch') await owners.begin()
      const { open, due } = stateOf(queue)
      const isDue = (shard: number) => (due.get(shard) ?? Number.POSITIVE_INFINITY) <= now
      return turned().filter((shard) => isMine(queue, shard) && (open.has(shard) || isDue(shard)))
    },
    /** Called when a shard may have jobs to claim. */
    mayClaim: (queue: string, shard: number) => void stateOf(queue).open.add(shard),
    /** Called when something was put back on an unknown queue. */
    mayClaimAny(shard: number): void {
      for (const { open } of queues.values()) open.add(shard)
    },
    /** Called before jobs of a shard are claimed. */
    asked: (queue: string, shard: number) => void stateOf(queue).open.delete(shard),
    /** Sets when a shard next has a due job; undefined if it has none. */
    dueAt(queue: string, shard: number, time: number | undefined): void {
      if (time === undefined) stateOf(queue).due.delete(shard)
      else stateOf(queue).due.set(shard, time)
    },
    nextDue(queue: string): number | undefined {
      const times = [...stateOf(queue).due].filter(([shard]) => isMine(queue, shard)).map(([, time]) => time)
      return times.length > 0 ? Math.min(...times) : undefined
    },
    /** Adds new shards of this daemon. Their earlier signals were missed, so all may have work. */
    begun(own: ReadonlySet<number>): void {
      for (const shard of own) {
        toPump.add(shard)
        stateOf('dispatch').open.add(shard)
      }
    },
  }
}
