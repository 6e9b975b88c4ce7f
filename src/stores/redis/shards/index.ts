import type { Log } from '../../../core/log.ts'
import { askAll } from '../../../core/reachable.ts'
import type { Retention } from '../../../core/retention.ts'
import type { KeyValues, Leases, StoreStats } from '../../../core/store.ts'
import { defined } from '../../../lib/defined.ts'
import { addCount } from '../../../lib/name-counts.ts'
import { mergeWaiting } from '../../shared/values.ts'
import type { Layout } from '../layout.ts'
import type { createSignals } from '../signals.ts'
import type { ShardRetention } from '../trim.ts'
import { createShardedErasing } from './erasing.ts'
import { createShardedJobs } from './jobs.ts'
import { createShardedJournal } from './journal.ts'
import { createOwned } from './owned.ts'
import { createOwners } from './owners.ts'
import { guardShards } from './reach.ts'
import { createShardedReceive } from './receive.ts'
import type { Parts, Shard } from './shard.ts'
import { createShardedTopics } from './topics.ts'

/** The parts of a store that has several shards. */
export function openShards(
  unguarded: readonly Shard[],
  options: {
    layout: Layout
    kv: KeyValues
    leases: Leases
    signals: ReturnType<typeof createSignals>
    log: Log
  },
): Parts {
  const { signals, layout } = options
  const stopped = new AbortController()
  const shards = guardShards(unguarded, stopped.signal)
  const { of: shardCount } = layout
  const owners = createOwners({
    ...options,
    of: shardCount,
    onSignal: signals.on,
    // Called only after `begin`, when `owned` exists.
    changed: async (own) => {
      owned.begun(own)
      await signals.dispatchOf(own)
    },
  })
  const owned = createOwned(shardCount, owners, signals.on)
  return {
    onSignal: (name, listener) => {
      // A daemon that waits for messages to dispatch takes part in the distribution of shards.
      if (name === 'journal') owners.begin().catch(() => {})
      return signals.on(name, listener)
    },
    journal: createShardedJournal(shards, layout, owned),
    receive: createShardedReceive(shards, layout, (changed) => signals.follow('receive', changed)),
    topics: createShardedTopics(shards, layout, (changed) =>
      signals.follow('topic:gateway-message', changed),
    ),
    jobs: createShardedJobs(shards, layout, owned, Date.now),
    erasing: createShardedErasing(shards, layout),
    // One reachable shard is enough. If none is, throws the error of the first shard instead of an
    // AggregateError.
    ping: () =>
      Promise.any(shards.map(({ ping }) => ping())).catch(({ errors: [first] }: AggregateError) => {
        throw first
      }),
    stats: async () => {
      const { answers, away } = await askAll(shards, ({ stats }) => stats())
      return { ...sumOf(answers), ...(away.length > 0 && { away }) }
    },
    oldestWaiting: async () =>
      mergeWaiting((await askAll(shards, ({ oldestWaiting }) => oldestWaiting())).answers.flat()),
    trim: async (policy) => {
      const { answers } = await askAll(shards, ({ trim }) => trim(partOf(policy, shardCount)))
      return {
        removed: answers.reduce((sum, { removed }) => sum + removed, 0),
        more: answers.some(({ more }) => more),
      }
    },
    stop: async () => {
      stopped.abort()
      await owners.stop()
    },
  }
}

function sumOf(all: readonly StoreStats[]): StoreStats {
  const sum = (countIn: (stats: StoreStats) => number) =>
    all.reduce((total, stats) => total + countIn(stats), 0)
  const earliest = (timeIn: (stats: StoreStats) => number | undefined) => {
    const times = all.map(timeIn).filter((time) => time !== undefined)
    return times.length > 0 ? Math.min(...times) : undefined
  }
  const oldestAtIn = (timeIn: (stats: StoreStats) => number | undefined) =>
    defined({ oldestAt: earliest(timeIn) })
  const lost: Record<string, number> = {}
  for (const { receive } of all) {
    for (const [gateway, count] of Object.entries(receive.lost)) addCount(lost, gateway, count)
  }
  const queues = new Set(all.flatMap(({ jobs }) => jobs.map(({ queue }) => queue)))
  return {
    journal: {
      messages: sum(({ journal }) => journal.messages),
      ...oldestAtIn(({ journal }) => journal.oldestAt),
    },
    receive: {
      ready: sum(({ receive }) => receive.ready),
      leased: sum(({ receive }) => receive.leased),
      lost,
      ...oldestAtIn(({ receive }) => receive.oldestAt),
    },
    dispatch: {
      unpumped: sum(({ dispatch }) => dispatch.unpumped),
      ...oldestAtIn(({ dispatch }) => dispatch.oldestAt),
    },
    jobs: [...queues].map((queue) => {
      const queueIn = ({ jobs }: StoreStats) => jobs.find((each) => each.queue === queue)
      return {
        queue,
        waiting: sum((stats) => queueIn(stats)?.waiting ?? 0),
        running: sum((stats) => queueIn(stats)?.running ?? 0),
        dead: sum((stats) => queueIn(stats)?.dead ?? 0),
        ...oldestAtIn((stats) => queueIn(stats)?.oldestAt),
        ...defined({ deadAt: earliest((stats) => queueIn(stats)?.deadAt) }),
      }
    }),
  }
}

/** The retention of each shard: its share of the maximum counts. */
function partOf(policy: Retention, shardCount: number): ShardRetention {
  const part = (count: number) => Math.ceil(count / shardCount)
  const { journal, gateways = {}, deadLetters = 5_000 } = policy
  const ofGateways = Object.entries(gateways).map(([name, { maxCount, ...rest }]) => {
    return [name, maxCount === undefined ? rest : { ...rest, maxCount: part(maxCount) }] as const
  })
  return {
    ...policy,
    journal: { ...journal, maxCount: part(journal.maxCount) },
    // Topics other than `gateway-message` are on one shard, so their maximum is not divided.
    topicMaxCount: journal.maxCount,
    gateways: Object.fromEntries(ofGateways),
    deadLetters: part(deadLetters),
  }
}
