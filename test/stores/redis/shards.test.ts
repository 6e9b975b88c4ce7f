import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { TriviumError } from '../../../src/core/errors.ts'
import { MESSAGE_TOPIC } from '../../../src/core/event.ts'
import type { Store } from '../../../src/core/store.ts'
import { createAccept } from '../../../src/engine/accept.ts'
import { createWorker } from '../../../src/engine/worker.ts'
import { createWakeSignal } from '../../../src/lib/loop.ts'
import { createLayout } from '../../../src/stores/redis/layout.ts'
import { tagOf } from '../../../src/stores/redis/roots.ts'
import { createShardedJobs } from '../../../src/stores/redis/shards/jobs.ts'
import { createOwned } from '../../../src/stores/redis/shards/owned.ts'
import { seekAll } from '../../../src/stores/redis/shards/seek.ts'
import { acceptAll, MINUTE, readGroup, saying, silent, until } from '../../contract/store/kit.ts'
import { openSite } from '../../fixtures/daemon.ts'
import { assertPrompt } from '../../fixtures/in-time.ts'
import { startRedisCluster, startRedisServer } from '../../fixtures/redis-server.ts'
import { moveSlot } from '../../fixtures/redis-topology.ts'
import { assertOrder, COMMAND_TIMEOUT, clusterOf, openStore, redisOf } from './kit.ts'
import { underLoad } from './load.ts'

/** Enough conversations for each shard to have some. */
const CONVERSATIONS = Array.from({ length: 40 }, (_, n) => `c${n}`)

/** Moves the dispatch cursor of a store until it is stopped, as a daemon does. */
function pumpContinuously(store: Store) {
  let pumped = 0
  let isStopped = false
  const signal = createWakeSignal()
  const unsubscribe = store.onSignal('journal', signal.wake)
  const loop = async () => {
    while (!isStopped) {
      signal.clear()
      const { cursor, items: messages } = await store.journal.unpumped(10)
      const last = messages.at(-1)
      if (!last) await signal.sleep()
      else if (await store.journal.pumped(cursor, last.id, [])) pumped += messages.length
    }
  }
  const ended = loop()
  return {
    store,
    pumped: () => pumped,
    async stop() {
      isStopped = true
      unsubscribe()
      signal.wake()
      await ended
    },
  }
}

describe('a store with several shards', { concurrency: 3 }, () => {
  test('hands out each message once, the oldest first to within a second, on both roads', async (t) => {
    const { open } = await redisOf(t)
    let time = Date.now()
    const options = { shards: 8, now: () => time }
    const [first, second] = [await open(options), await open(options)]
    const storeAt = (index: number) => (index % 2 === 0 ? first : second)
    await first.topics.subscribe(MESSAGE_TOPIC, 'g', 'start')
    const sent: string[] = []
    for (const [index, conversation] of [...CONVERSATIONS, ...CONVERSATIONS].entries()) {
      sent.push(...(await acceptAll(storeAt(index), [`${index}`], { conversation })))
      time += 90
    }
    const taken: string[] = []
    for (let call = 0; ; call++) {
      const next = await storeAt(call).receive.take({})
      if (!next) break
      taken.push(next.message.id)
    }
    assert.deepEqual(taken.toSorted(), sent)
    assertOrder(taken)
    const read: string[] = []
    for (let call = 0; ; call++) {
      const batch = await readGroup(storeAt(call), MESSAGE_TOPIC, 'g', 'consume', { max: 7 })
      if (batch.items.length === 0) break
      read.push(...batch.items.map(({ id }) => id))
    }
    assert.deepEqual(read.toSorted(), sent)
    assertOrder(read)
  })

  test('accepts a key once, even with other conversations and from several daemons concurrently', async (t) => {
    const { open } = await redisOf(t)
    const stores = await Promise.all([1, 2, 3].map(() => open({ shards: 8 })))
    const keys = ['a', 'b', 'c', 'd', 'e', 'f']
    for (const key of keys) {
      const messages = [
        saying('x', { key }),
        ...CONVERSATIONS.map((conversation) => saying('x', { key, conversation })),
      ]
      const calls = stores.flatMap((store) => messages.map((message) => store.journal.accept([message])))
      const accepted = (await Promise.all(calls)).flat()
      assert.equal(new Set(accepted.map(({ id }) => id)).size, 1)
      assert.equal(accepted.filter(({ duplicate }) => !duplicate).length, 1)
    }
    assert.equal((await stores[0]?.stats())?.journal.messages, keys.length)
  })

  test('a search pages through all messages, newest first, each once', async (t) => {
    const { open } = await redisOf(t)
    let time = Date.now()
    const store = await open({ shards: 5, now: () => time })
    const sent: string[] = []
    for (const conversation of CONVERSATIONS) {
      sent.push(...(await acceptAll(store, ['x'], { conversation })))
      time += 3
    }
    const found: string[] = []
    for (let before: string | undefined; ; ) {
      const page = await store.journal.search({ limit: 7, before })
      found.push(...page.found.map(({ message }) => message.id))
      before = page.next
      if (before === undefined) break
    }
    assert.deepEqual(found, sent.reverse())
  })

  test('gives each daemon a part to dispatch; others take over the part of one that stops', async (t) => {
    const { open } = await redisOf(t)
    const daemons = await Promise.all([1, 2, 3].map(async () => pumpContinuously(await open({ shards: 8 }))))
    const [first, , third] = daemons
    assert.ok(first && third)
    const pumped = () => daemons.reduce((sum, daemon) => sum + daemon.pumped(), 0)
    const acceptAndPump = async () => {
      const before = pumped()
      await Promise.all(CONVERSATIONS.map((conversation) => acceptAll(first.store, ['x'], { conversation })))
      await until(() => pumped() === before + CONVERSATIONS.length, 'all messages to be pumped')
    }
    await until(async () => {
      const before = daemons.map((daemon) => daemon.pumped())
      await acceptAndPump()
      return daemons.every((daemon, index) => daemon.pumped() > (before[index] ?? 0))
    }, 'each daemon to have a part')
    await third.stop()
    await third.store.close()
    const began = performance.now()
    await acceptAndPump()
    await assertPrompt('the take-over', performance.now() - began, 2_000)
    for (const daemon of daemons) await daemon.stop()
  })

  test('hands out a message whose lease expired on one shard before a busy shard is empty', async (t) => {
    const { open } = await redisOf(t)
    const store = await open({ shards: 2 })
    const BUSY = 500
    const { shardOf } = createLayout(2)
    const [busy, other] = [0, 1].map((shard) => CONVERSATIONS.find((name) => shardOf(name) === shard))
    assert.ok(busy && other)
    await store.topics.subscribe(MESSAGE_TOPIC, 'g', 'start')
    const [expiring = ''] = await acceptAll(store, ['expiring'], { conversation: other })
    assert.equal((await store.receive.take({}, 100))?.message.id, expiring)
    const [event] = (await readGroup(store, MESSAGE_TOPIC, 'g', 'lease', { lease: 100 })).items
    assert.equal(event?.id, expiring)
    await acceptAll(store, Array<string>(BUSY).fill('x'), { conversation: busy })
    for (const next of [
      async () => (await store.receive.take({}))?.message.id,
      async () => (await readGroup(store, MESSAGE_TOPIC, 'g', 'consume', { max: 1 })).items[0]?.id,
    ]) {
      let handedOut = 0
      await until(async () => {
        assert.ok(++handedOut < BUSY, 'before the busy shard is empty')
        return (await next()) === expiring
      }, 'the expired message')
    }
  })

  test('runs the jobs of a group with a limit as soon as a place is free', async (t) => {
    const { open } = await redisOf(t)
    const store = await open({ shards: 2 })
    const ran: string[] = []
    const worker = createWorker({
      queue: 'q',
      store,
      concurrency: 8,
      limits: () => new Map([['g', 1]]),
      async run(job) {
        ran.push(job.id)
        return { outcome: 'done' }
      },
      log: silent,
      now: Date.now,
    })
    const jobs = CONVERSATIONS.map((name) => ({ id: `job-${name}`, lane: name, group: 'g', data: {} }))
    await store.jobs.add('q', jobs)
    worker.start()
    t.after(() => worker.stop(0))
    await until(() => ran.length === jobs.length, 'all jobs')
    assert.equal(new Set(ran).size, jobs.length)
  })

  test('keeps its number of shards, and refuses another', async (t) => {
    const { open } = await redisOf(t)
    const many = await open({ shards: 3, prefix: 'many' })
    assert.equal(many.topics.partitions(MESSAGE_TOPIC), 3)
    await assert.rejects(open({ shards: 4, prefix: 'many' }), { code: 'store_shards', message: /set 3/ })
    assert.equal((await open({ prefix: 'many' })).topics.partitions(MESSAGE_TOPIC), 3)
    await acceptAll(await open({ prefix: 'one' }), ['x'])
    await assert.rejects(open({ shards: 4, prefix: 'one' }), { code: 'store_shards' })
  })

  test('accepts on the other shards while a master hangs, and returns an error per message of its shards', async (t) => {
    const { store, master } = await clusterOf(t)
    const messages = CONVERSATIONS.map((conversation) => saying('x', { conversation, key: conversation }))
    master.freeze()
    const accepted = await store.journal.accept(messages)
    const codes = new Set(accepted.map(({ error }) => Object(error).code))
    assert.deepEqual(codes, new Set([undefined, 'store_unavailable']))
    const { accept } = createAccept({
      journal: store.journal,
      accepted: () => {},
      refused: () => {},
      maxPending: 100,
      maxBacklog: 100,
    })
    const results = await Promise.allSettled(messages.map(accept))
    assert.deepEqual(
      results.map(({ status }) => status === 'fulfilled'),
      accepted.map(({ error }) => error === undefined),
    )
    await store.ping()
    master.resume()
    const repeated = await until(async () => {
      const answers = await store.journal.accept(messages)
      return answers.every(({ error }) => error === undefined) ? answers : undefined
    }, 'the master')
    assert.equal(new Set(repeated.map(({ id }) => id)).size, messages.length)
    assert.equal((await store.stats()).journal.messages, messages.length)
  })

  test('takes, reads and counts messages of the other shards while a master hangs, and waits for it only once', async (t) => {
    const { store, master } = await clusterOf(t)
    for (const group of ['consumed', 'peeked']) await store.topics.subscribe(MESSAGE_TOPIC, group, 'now')
    await store.journal.accept(CONVERSATIONS.map((conversation) => saying('x', { conversation })))
    master.freeze()
    await Promise.allSettled([store.stats()])
    const began = performance.now()
    const { away = [], journal } = await store.stats()
    assert.ok(away.length > 0 && away.length < store.topics.partitions(MESSAGE_TOPIC), `${away.length} away`)
    assert.ok(journal.messages > 0 && journal.messages < CONVERSATIONS.length)
    const take = async () => (await store.receive.take({}, MINUTE))?.message.id
    const taken: string[] = []
    for (let id = await take(); id; id = await take()) taken.push(id)
    const read = async (group: string, mode: 'consume' | 'peek') =>
      (await store.topics.read(MESSAGE_TOPIC, [{ group, mode, max: 500 }]))[0]?.items ?? []
    assert.equal((await read('peeked', 'peek')).length, journal.messages)
    assert.equal((await read('consumed', 'consume')).length, journal.messages)
    assert.equal(new Set(taken).size, journal.messages)
    assert.equal((await store.topics.groups(MESSAGE_TOPIC)).length, 2)
    await assertPrompt('all calls', performance.now() - began, 5 * COMMAND_TIMEOUT)

    master.resume()
    await until(async () => (await store.stats()).away === undefined, 'the shards of the master')
    while (taken.length < CONVERSATIONS.length) {
      const id = await take()
      if (id) taken.push(id)
    }
    assert.equal(new Set(taken).size, CONVERSATIONS.length)
    assert.equal((await read('consumed', 'consume')).length, CONVERSATIONS.length - journal.messages)
  })

  test('a seek moves a group on all shards or, while a master hangs, on none', async (t) => {
    const { store, master } = await clusterOf(t)
    const read = async () =>
      (await store.topics.read(MESSAGE_TOPIC, [{ group: 'g', mode: 'consume', max: 500 }]))[0]?.items ?? []
    await store.topics.subscribe(MESSAGE_TOPIC, 'g', 'start')
    await store.journal.accept(CONVERSATIONS.map((conversation) => saying('x', { conversation })))
    assert.equal((await read()).length, CONVERSATIONS.length)
    master.freeze()
    await assert.rejects(store.topics.seek(MESSAGE_TOPIC, 'g', 'start'), { code: 'store_unavailable' })
    master.resume()
    await until(async () => (await store.stats()).away === undefined, 'the shards of the master')
    assert.deepEqual(await read(), [])
    assert.equal(await store.topics.seek(MESSAGE_TOPIC, 'g', 'start'), true)
    // A shard may be unreachable again for a moment; then one read does not return everything.
    let count = 0
    await until(async () => {
      count += (await read()).length
      return count >= CONVERSATIONS.length
    }, 'all events')
    assert.equal(count, CONVERSATIONS.length)
    assert.equal(await store.topics.seek(MESSAGE_TOPIC, 'unknown', 'start'), false)
  })

  test('a seek that fails on one shard says on how many it moved the group, and the next completes it', async () => {
    const calls: string[] = []
    let fails = true
    const shards = [0, 1, 2].map((shard) => ({
      ping: async () => {},
      topics: {
        async seek() {
          if (shard === 1 && fails)
            throw new TriviumError('store_unavailable', { store: 's', reason: 'reset' })
          calls.push(`seek ${shard}`)
          // Shard 2 does not know the group.
          return shard !== 2
        },
        async subscribe(_topic: string, _group: string, from: string) {
          assert.equal(from, 'now')
          calls.push(`subscribe ${shard}`)
          return { created: true }
        },
      },
    }))
    await assert.rejects(seekAll(shards, 'g', 'now'), {
      code: 'store_unavailable',
      message: /moved on 2 of 3 shards; seek again.*reset/,
    })
    assert.deepEqual(calls, ['seek 0', 'seek 2', 'subscribe 2'])
    fails = false
    assert.equal(await seekAll(shards, 'g', 'now'), true)
    assert.ok(calls.includes('seek 1'))
  })

  test('a seek whose script fails half-way changes nothing', async (t) => {
    const { open, client } = await redisOf(t)
    const store = await open({ prefix: 'torn' })
    await store.topics.subscribe(MESSAGE_TOPIC, 'g', 'start')
    await acceptAll(store, ['a', 'b'])
    await readGroup(store, MESSAGE_TOPIC, 'g', 'lease', { lease: MINUTE })
    const redis = client()
    // The script writes this key last.
    const [key = ''] = await redis.keys('*used')
    await redis.rename(key, 'aside')
    await redis.set(key, 'of another program')
    await assert.rejects(store.topics.seek(MESSAGE_TOPIC, 'g', 'now'))
    await redis.rename('aside', key)
    const [g] = await store.topics.groups(MESSAGE_TOPIC)
    assert.deepEqual([g?.lag, g?.pending], [0, 2])
    assert.equal(await store.topics.seek(MESSAGE_TOPIC, 'g', 'start'), true)
    assert.equal((await readGroup(store, MESSAGE_TOPIC, 'g', 'consume')).items.length, 2)
  })

  test('settles the jobs of the other shards while a master hangs', async (t) => {
    const { store, master } = await clusterOf(t)
    const jobs = CONVERSATIONS.map((lane) => ({ id: `job-${lane}`, lane, group: 'g', data: {} }))
    await store.jobs.add('q', jobs)
    const { promise: mayEnd, resolve: endRuns } = Promise.withResolvers<void>()
    let started = 0
    let settled = 0
    const worker = createWorker({
      queue: 'q',
      store,
      concurrency: jobs.length,
      async run() {
        started++
        await mayEnd
        return { outcome: 'done' }
      },
      settled: () => settled++,
      log: silent,
      now: Date.now,
    })
    worker.start()
    t.after(() => worker.stop(0))
    await until(() => started === jobs.length, 'all jobs to start')
    master.freeze()
    endRuns()
    await until(() => settled > 0, 'the jobs on the other masters')
    assert.ok(settled < jobs.length)
    master.resume()
  })

  test('a claim stops at an unreachable shard, so that the jobs already claimed can start', async () => {
    const calledShards: number[] = []
    const job = { id: 'a', lane: 'l', group: 'g', token: 't', failures: 0, lost: 0, errors: [] }
    const shards = Array.from({ length: 4 }, (_, shard) => ({
      jobs: {
        deadLetters: {},
        async claim() {
          calledShards.push(shard)
          if (shard === 1) return { items: [job], more: false }
          throw new TriviumError('store_unavailable', { store: 's', reason: 'it hangs' })
        },
      },
    }))
    const owners = { own: new Set<number>(), begin: async () => {}, stop: async () => {} }
    const owned = createOwned(4, owners, () => () => {})
    const time = Date.now()
    const jobs = createShardedJobs(shards as never, createLayout(4), owned, () => time)
    const { items, nextDue = 0 } = await jobs.claim('q', { max: 9, lease: 1_000 })
    assert.deepEqual(
      items.map(({ id }) => id),
      ['a'],
    )
    // Claims take turns at which shard they begin: this one at 1. After the failure of 2, it asks
    // no other.
    assert.deepEqual(calledShards, [1, 2])
    assert.ok(nextDue > time, 'the next claim follows later')
  })

  test('loses nothing and hands out nothing twice while the slot of a shard moves under load', async (t) => {
    const cluster = await startRedisCluster()
    t.after(() => cluster.stop())
    const stores = await Promise.all([1, 2].map(() => openStore(cluster.url, { shards: 4 })))
    t.after(() => Promise.all(stores.map((store) => store.close())))
    const { lost, twice } = await underLoad(stores, () =>
      moveSlot(cluster.nodes, `{${tagOf('trivium', 1, 4)}}:`),
    )
    assert.deepEqual([lost, twice], [0, 0])
  })
})

const ROUTES = `
redis: { shards: 8 }
gateways:
  work: { transport: webhook, path: /hooks/work, verify: { scheme: none }, conversation: data.body.conversation }
routes:
  - name: all
    skill: echo
    reply: none
`

describe('two daemons on a store with several shards', async () => {
  const redis = await startRedisServer()
  after(() => redis.stop())
  const site = openSite({ ownProcess: true, routes: ROUTES, env: { REDIS_URL: redis.url } })

  test('the survivor dispatches the shards of a killed daemon once its lease has expired', async () => {
    const daemons = [await site.start(), await site.start({ TRIVIUM_DATA_DIR: '.trivium-2' })] as const
    const [victim, survivor] = daemons
    const send = () =>
      Promise.all(
        CONVERSATIONS.map((conversation) => survivor.post('/hooks/work', JSON.stringify({ conversation }))),
      )
    const isDone = async (count: number) => {
      const { stats } = Object(Object(await survivor.get('/v1/status')).result)
      const unfinished = Object.values(stats.jobs).map(
        (queue) => Object(queue).waiting + Object(queue).running,
      )
      const isIdle = stats.dispatch.unpumped === 0 && unfinished.every((jobs) => jobs === 0)
      return stats.journal.messages === count && isIdle
    }
    await send()
    await until(() => isDone(CONVERSATIONS.length), 'all messages to be dispatched')
    await victim.end('SIGKILL')
    const began = performance.now()
    await send()
    await until(() => isDone(2 * CONVERSATIONS.length), 'the messages of the killed daemon')
    // The lease of 4 s, a check every 1.3 s, and a margin.
    await assertPrompt('the take-over', performance.now() - began, 6_500)
  })
})
