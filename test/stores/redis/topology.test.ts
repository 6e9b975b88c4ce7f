import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MESSAGE_TOPIC } from '../../../src/core/event.ts'
import { createReplyLog } from '../../../src/engine/submit.ts'
import { checkRedis } from '../../../src/stores/redis/check.ts'
import { newest, saying, silent } from '../../contract/store/kit.ts'
import { startRedisCluster } from '../../fixtures/redis-server.ts'
import { moveSlot, startSentinels } from '../../fixtures/redis-topology.ts'
import { until } from '../../fixtures/until.ts'
import { openStore, redisOf } from './kit.ts'
import { MAX_LOST_IN_FAIL_OVER, underLoad } from './load.ts'

describe('a Redis of several servers', { concurrency: 3 }, () => {
  test('loses nothing and hands out nothing twice while the slot of the store moves under load', async (t) => {
    const cluster = await startRedisCluster()
    t.after(() => cluster.stop())
    const stores = await Promise.all([1, 2].map(() => openStore(cluster.url, { shards: 1 })))
    t.after(() => Promise.all(stores.map((store) => store.close())))
    const { lost, twice } = await underLoad(stores, () => moveSlot(cluster.nodes, '{trivium}:'))
    assert.deepEqual([lost, twice], [0, 0])
  })

  test('finds restarted nodes again, and reports a slot whose move was interrupted', async (t) => {
    const cluster = await startRedisCluster()
    t.after(() => cluster.stop())
    const store = await openStore(cluster.url, { shards: 1 })
    t.after(() => store.close())
    const accept = (text: string) => store.journal.accept([saying(text, { key: text })])
    for (const text of ['a', 'b', 'c', 'd', 'e']) await accept(text)
    for (const node of cluster.nodes) {
      await node.kill()
      await node.start()
    }
    await until(() => accept('after the restart').catch(() => false), 'the nodes')
    await moveSlot(cluster.nodes, '{trivium}:', Number.POSITIVE_INFINITY)
    await assert.rejects(accept('meanwhile'), { code: 'store_unavailable' })
    const failed = (await checkRedis({ url: cluster.url, log: silent })).filter(({ ok }) => !ok)
    const slots = failed.filter(({ name }) => name.includes('slots'))
    assert.notEqual(slots.length, 0)
    for (const { detail } of slots) assert.match(detail, /^slot \d+ is being moved/)
  })

  test('acknowledges almost nothing on the old master of a planned fail-over', async (t) => {
    const sentinels = await startSentinels()
    t.after(() => sentinels.stop())
    const store = await openStore(sentinels.url)
    t.after(() => store.close())
    const { lost } = await underLoad([store], sentinels.failOver)
    assert.ok(lost < MAX_LOST_IN_FAIL_OVER, `${lost} messages lost`)
  })

  test('with `replicas`, acknowledges only replicated messages, and reports missing replicas', async (t) => {
    const master = await redisOf(t, ['--repl-diskless-sync-delay', '0'])
    const { server: replica, client } = await redisOf(t, [
      '--replicaof',
      '127.0.0.1',
      `${master.server.port}`,
    ])
    const store = await master.open({ replicas: 1, commandTimeout: 600 })
    const accept = (text: string) => store.journal.accept([saying(text, { key: text })])
    await until(() => accept('first').catch(() => false), 'the replica')
    const accepted = await Promise.all(Array.from({ length: 50 }, (_, n) => accept(`${n}`)))
    assert.equal(await client().xlen('{trivium}:journal'), accepted.length + 1)
    replica.freeze()
    const tooFew = { code: 'store_unavailable', message: /0 of 1 replicas/ }
    await assert.rejects(accept('alone'), tooFew)
    await assert.rejects(store.ping(), tooFew)
    replica.resume()
    await until(() => accept('alone').catch(() => false), 'the replica')
    assert.equal((await accept('alone'))[0]?.duplicate, true)
    const onReplica = await checkRedis({ url: replica.url, log: silent, replicas: 1 })
    const failed = onReplica.filter(({ ok }) => !ok).map(({ name }) => name)
    assert.deepEqual(failed, ['Redis: role', 'Redis: replicas'])
  })
})

test('Redis refuses a call that its caller has given up, if a network repeats it', async (t) => {
  const { server, open, client } = await redisOf(t)
  // Before the store is open: ioredis fails if it gets a command of others before it knows that it
  // monitors.
  const monitor = await client().monitor()
  t.after(() => monitor.disconnect())
  const store = await open({ commandTimeout: 300 })
  const admin = client()
  const sent: string[][] = []
  // Except the regular check of the server's clock, whose last argument is this topic.
  monitor.on('monitor', (_time, args: string[]) => args.at(-1) !== MESSAGE_TOPIC && sent.push(args))
  await store.jobs.add('q', [{ id: 'a', lane: 'l', group: 'g' }])
  await store.topics.subscribe('t', 'g', 'now')
  await store.journal.accept([saying('a')])
  const calls = [
    () => store.receive.take({}),
    () => store.jobs.claim('q', { max: 1, lease: 60_000 }),
    () => store.topics.read('t', [{ group: 'g', max: 9, mode: 'consume' }]),
  ]
  server.freeze()
  const givenUp = await Promise.allSettled(calls.map((call) => call()))
  assert.ok(givenUp.every(({ status }) => status === 'rejected'))
  server.resume()
  for (const call of calls) await until(() => call().then(() => true), 'the answer')
  // The last three scripts are the successful calls, and the three before them those that were
  // given up.
  const copies = sent.filter(([name]) => name?.toLowerCase() === 'evalsha').slice(-6, -3)
  await store.journal.accept([saying('b')])
  await store.jobs.add('q', [{ id: 'b', lane: 'b', group: 'g' }])
  await store.topics.publish('t', [{ type: 'x', source: 's', data: 'b' }])
  for (const [name = '', ...args] of copies) await assert.rejects(admin.call(name, ...args), /has given up/)
  assert.equal((await store.receive.take({}))?.message.text, 'b')
  assert.equal((await store.jobs.claim('q', { max: 1, lease: 60_000 })).items[0]?.id, 'b')
  const [read] = await store.topics.read('t', [{ group: 'g', max: 9, mode: 'consume' }])
  assert.equal(read?.items[0]?.data, 'b')
})

describe('a Redis that lost data', () => {
  test('a store that knew the lost journal refuses to start a new one, until another store has', async (t) => {
    const { open, client } = await redisOf(t)
    const store = await open()
    await store.journal.accept([saying('lost')])
    await client().flushall()
    const emptied = { code: 'store_unavailable', message: /lost its journal.*restart/ }
    await assert.rejects(store.journal.accept([saying('x')]), emptied)
    await assert.rejects(store.ping(), emptied)
    const restarted = await open()
    await restarted.journal.accept([saying('new')])
    await store.journal.accept([saying('second')])
    assert.equal((await newest(store, 9)).length, 2)
  })

  test('numbers later replies above the lost ones, so that readers miss none', async (t) => {
    const { server, open, client } = await redisOf(t, ['--appendonly', 'no'])
    const store = await open()
    const replies = createReplyLog(store, 'chat')
    const say = (key: string) => replies.append('c', { key, text: key, conversation: 'c', gateway: 'chat' })
    await say('a')
    await client().save()
    for (const key of ['b', 'c']) await say(key)
    assert.deepEqual(await replies.end('c'), 3)
    await server.kill()
    await server.start()
    for (const key of ['d', 'e', 'f']) await until(() => say(key).catch(() => false), 'the connection')
    const found = await replies.read('c', 3, 10)
    assert.deepEqual(
      found.map(({ data }) => data.text),
      ['d', 'e', 'f'],
    )
  })
})
