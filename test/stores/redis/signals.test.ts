import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import type { Leases } from '../../../src/core/store.ts'
import { createOwners } from '../../../src/stores/redis/shards/owners.ts'
import { createSignals } from '../../../src/stores/redis/signals.ts'
import { silent, until } from '../../contract/store/kit.ts'
import { createMemoryStore } from '../../fixtures/memory-store.ts'
import { cleanup } from '../../runtime/support/cleanup.ts'
import { redisOf } from './kit.ts'

test('receives the signals of shards that are acquired during a reconnect', async (t) => {
  const { server, client } = await redisOf(t)
  const publisher = client()
  let whileConnecting = () => {}
  const subscriber = () => {
    queueMicrotask(whileConnecting)
    return new Redis(server.url, { retryStrategy: () => null }).on('error', () => {})
  }
  const signals = createSignals(subscriber, 'c', 4, silent)
  cleanup(t, () => signals.close())
  await signals.ready
  const signalled = new Set<number>()
  signals.on('jobs:dispatch', (shard) => void (shard !== undefined && signalled.add(shard)))
  whileConnecting = () => void signals.dispatchOf(new Set([1, 3]))

  await publisher.client('KILL', 'TYPE', 'PUBSUB')

  await until(async () => {
    for (const shard of [0, 1, 2, 3]) await publisher.publish(`c/${shard}/dispatch`, '["jobs:dispatch"]')
    return signalled.size > 0
  }, 'a signal')
  await publisher.publish('c/1/dispatch', '["jobs:dispatch"]')
  await publisher.publish('c/3/dispatch', '["jobs:dispatch"]')
  await until(() => signalled.size > 1, 'the signal of the other shard')
  assert.deepEqual([...signalled].sort(), [1, 3])
})

test('a shard acquired by a check that failed half-way is reported by the next check', async (t) => {
  const { kv, leases } = createMemoryStore()
  await leases.acquire('shards/2', 'another', 60_000)
  await leases.acquire('shards/3', 'another', 60_000)
  let fails = true
  const acquire: Leases['acquire'] = async (name, ...rest) => {
    if (fails && name === 'shards/1') throw new Error('the store is away')
    return leases.acquire(name, ...rest)
  }
  const reported: string[] = []
  const changed = async (own: ReadonlySet<number>) => void reported.push([...own].join())
  const owners = createOwners({
    of: 4,
    kv,
    leases: { ...leases, acquire },
    onSignal: () => () => {},
    changed,
    log: silent,
  })
  cleanup(t, () => owners.stop())
  await assert.rejects(owners.begin(), /the store is away/)
  fails = false
  await leases.acquire('shards/1', 'another', 60_000)

  await owners.begin()

  assert.deepEqual(reported, ['0'])
})
