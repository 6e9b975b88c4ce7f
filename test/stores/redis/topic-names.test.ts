import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Redis } from 'ioredis'
import type { Retention, Store } from '../../../src/core/store.ts'
import { type RedisServer, startRedisServer } from '../../fixtures/redis-server.ts'
import { openStore } from './kit.ts'

const DAY = 24 * 3_600_000
const POLICY: Retention = { journal: { maxAge: DAY, maxCount: 1_000 } }

describe('topics that come and go', () => {
  let server: RedisServer
  let admin: Redis

  before(async () => {
    server = await startRedisServer()
    admin = new Redis(server.url)
  })
  after(async () => {
    admin.disconnect()
    await server.stop()
  })

  const publish = (store: Store, topic: string) =>
    store.topics.publish(topic, [{ type: 'x', source: 's', data: 1 }])

  test('a topic without events and groups keeps its positions for a week, and then nothing is left of it', async () => {
    let time = Date.now()
    const store = await openStore(server.url, { prefix: 'p', now: () => time })
    for (const topic of ['idle', 'again', 'grouped']) await publish(store, topic)
    time += 2 * DAY
    assert.equal((await store.trim(POLICY)).removed, 3)
    await publish(store, 'again')
    await store.topics.subscribe('grouped', 'g', 'now')
    await store.trim(POLICY)
    assert.deepEqual([await store.topics.end('again'), await store.topics.end('grouped')], [2, 1])
    const ends = ['again', 'grouped', 'idle'].map((topic) => admin.ttl(`{p:topic:${topic}}:meta`))
    const [again, grouped, idle = 0] = await Promise.all(ends)
    assert.deepEqual([again, grouped, Math.ceil(idle / 86_400)], [-1, -1, 7])
    await admin.del('{p:topic:idle}:meta')
    await store.trim(POLICY)
    assert.equal(await admin.sismember('{p}:topics', 'idle'), 0)
    await store.close()
  })

  test('more topics than one call looks at are all trimmed in turn', async () => {
    let time = Date.now()
    const store = await openStore(server.url, { prefix: 'r', now: () => time })
    const topics = Array.from({ length: 500 }, (_, n) => `replies:${n}`)
    for (const topic of topics) await publish(store, topic)
    time += 2 * DAY
    let removed = 0
    for (let call = 0; call < 10; call++) removed += (await store.trim(POLICY)).removed
    assert.equal(removed, topics.length)
    await store.close()
  })
})
