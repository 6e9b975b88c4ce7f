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

test('shards that become ours while a subscription is made are heard of', async (t) => {
  const { server, client } = await redisOf(t)
  const publisher = client()
  let connecting = () => {}
  const subscriber = () => {
    queueMicrotask(connecting)
    return new Redis(server.url, { retryStrategy: () => null }).on('error', () => {})
  }
  const signals = createSignals(subscriber, 'c', 4, silent)
  cleanup(t, () => signals.close())
  await signals.ready
  const heard = new Set<number>()
  signals.on('jobs:dispatch', (shard) => void (shard !== undefined && heard.add(shard)))
  connecting = () => void signals.dispatchOf(new Set([1, 3]))

  await publisher.client('KILL', 'TYPE', 'PUBSUB')

  await until(async () => {
    for (const shard of [0, 1, 2, 3]) await publisher.publish(`c/${shard}/dispatch`, '["jobs:dispatch"]')
    return heard.size > 0
  }, 'a signal')
  await publisher.publish('c/1/dispatch', '["jobs:dispatch"]')
  await publisher.publish('c/3/dispatch', '["jobs:dispatch"]')
  await until(() => heard.size > 1, 'the other')
  assert.deepEqual([...heard].sort(), [1, 3])
})

test('a shard that was taken by a look that failed half-way is told of by the next', async (t) => {
  const { kv, leases } = createMemoryStore()
  await leases.acquire('shards/2', 'another', 60_000)
  await leases.acquire('shards/3', 'another', 60_000)
  let fails = true
  const acquire: Leases['acquire'] = async (name, ...rest) => {
    if (fails && name === 'shards/1') throw new Error('the store is away')
    return leases.acquire(name, ...rest)
  }
  const told: string[] = []
  const changed = async (own: ReadonlySet<number>) => void told.push([...own].join())
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

  assert.deepEqual(told, ['0'])
})
