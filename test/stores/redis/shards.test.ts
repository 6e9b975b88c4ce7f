import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { TriviumError } from '../../../src/core/errors.ts'
import { MESSAGE_TOPIC } from '../../../src/core/event.ts'
import { timeOf } from '../../../src/core/message-id.ts'
import type { Store } from '../../../src/core/store.ts'
import { createAccept } from '../../../src/engine/accept.ts'
import { createWorker } from '../../../src/engine/worker.ts'
import { createWakeSignal } from '../../../src/lib/loop.ts'
import { createLayout } from '../../../src/stores/redis/layout.ts'
import { tagOf } from '../../../src/stores/redis/roots.ts'
import { createShardedJobs } from '../../../src/stores/redis/shards/jobs.ts'
import { createOwned } from '../../../src/stores/redis/shards/owned.ts'
import { seekAll } from '../../../src/stores/redis/shards/seek.ts'
import { acceptAll, readGroup, saying, silent, until } from '../../contract/store/kit.ts'
import { openSite } from '../../fixtures/daemon.ts'
import { assertPrompt } from '../../fixtures/in-time.ts'
import { startRedisCluster, startRedisServer } from '../../fixtures/redis-server.ts'
import { moveSlot } from '../../fixtures/redis-topology.ts'
import { openStore, redisOf } from './kit.ts'
import { underLoad } from './load.ts'

/** Conversations enough for each shard to have some. */
const CONVERSATIONS = Array.from({ length: 40 }, (_, n) => `c${n}`)

describe('a store with several shards', { concurrency: 3 }, () => {
  test('hands out the oldest first, to within a second, each once, on both roads', async (t) => {
    const { open } = await redisOf(t)
    let time = Date.now()
    const options = { shards: 8, now: () => time }
    const stores = [await open(options), await open(options)] as const
    const [one, two] = stores
    await one.topics.subscribe(MESSAGE_TOPIC, 'g', 'start')
    const sent: string[] = []
    for (const [at, conversation] of [...CONVERSATIONS, ...CONVERSATIONS].entries()) {
      sent.push(...(await acceptAll(stores[at % 2] ?? one, [`${at}`], { conversation })))
      time += 90
    }
    const isInOrder = (ids: readonly string[]) =>
      ids.every((id, at) => ids.slice(0, at).every((before) => timeOf(before) <= timeOf(id) + 1_000))
    const taken: string[] = []
    for (let at = 0; ; at++) {
      const found = await stores[at % 2]?.receive.take({})
      if (!found) break
      taken.push(found.message.id)
    }
    assert.deepEqual([...taken].sort(), sent)
    assert.ok(isInOrder(taken))
    const read: string[] = []
    for (let at = 0; ; at++) {
      const { items: events } = await readGroup(stores[at % 2] ?? two, MESSAGE_TOPIC, 'g', 'consume', {
        max: 7,
      })
      if (events.length === 0) break
      read.push(...events.map(({ id }) => id))
    }
    assert.deepEqual([...read].sort(), sent)
    assert.ok(isInOrder(read))
  })

  test('knows a key whichever conversation comes with it, also from several daemons at once', async (t) => {
    const { open } = await redisOf(t)
    const stores = await Promise.all([1, 2, 3].map(() => open({ shards: 8 })))
    const rests = [...CONVERSATIONS.map((conversation) => ({ conversation })), {}]
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) {
      const answers = await Promise.all(
        stores.flatMap((store) => rests.map((rest) => store.journal.accept([saying('x', { key, ...rest })]))),
      )
      assert.equal(new Set(answers.flat().map(({ id }) => id)).size, 1)
      assert.equal(answers.flat().filter(({ duplicate }) => !duplicate).length, 1)
    }
    assert.equal((await stores[0]?.stats())?.journal.messages, 6)
  })

  test('pages through all messages, newest first, each once', async (t) => {
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

  test('gives each daemon its part to dispatch, and what one leaves to the others at once', async (t) => {
    const { open } = await redisOf(t)
    const stores = await Promise.all([1, 2, 3].map(() => open({ shards: 8 })))
    const pumped = stores.map(() => 0)
    const isOpen = stores.map(() => true)
    const signals = stores.map(createWakeSignal)
    const pump = async (store: Store, at: number) => {
      const signal = signals[at] ?? assert.fail()
      store.onSignal('journal', signal.wake)
      while (isOpen[at]) {
        signal.clear()
        const { cursor, items: messages } = await store.journal.unpumped(10)
        const last = messages.at(-1)
        if (last && (await store.journal.pumped(cursor, last.id, [])))
          pumped[at] = (pumped[at] ?? 0) + messages.length
        if (!last) await signal.sleep()
      }
    }
    const pumps = stores.map(pump)
    const total = () => pumped.reduce((sum, count) => sum + count, 0)
    const send = () =>
      Promise.all(CONVERSATIONS.map((conversation) => acceptAll(stores[0] as Store, ['x'], { conversation })))
    await until(
      async () => {
        const before = [...pumped]
        const all = total()
        await send()
        await until(() => total() === all + CONVERSATIONS.length, 'all to be pumped', 10_000)
        return pumped.every((count, at) => count > (before[at] ?? 0))
      },
      'each to have a part',
      20_000,
    )
    isOpen[2] = false
    signals[2]?.wake()
    await pumps[2]
    await stores[2]?.close()
    const all = total()
    const began = performance.now()
    await send()
    await until(() => total() === all + CONVERSATIONS.length, 'the part of the one that left', 10_000)
    await assertPrompt('the take-over', performance.now() - began, 2_000)
    isOpen.fill(false)
    for (const signal of signals) signal.wake()
    await Promise.all(pumps)
  })

  test('gives what came back on one shard to who is busy with another, within seconds', async (t) => {
    const { open } = await redisOf(t)
    const store = await open({ shards: 2 })
    const { shardOf } = createLayout(2)
    const [here = '', there = ''] = [0, 1].map((shard) =>
      CONVERSATIONS.find((name) => shardOf(name) === shard),
    )
    await store.topics.subscribe(MESSAGE_TOPIC, 'g', 'start')
    const [back = ''] = await acceptAll(store, ['back'], { conversation: there })
    assert.equal((await store.receive.take({}, 100))?.message.id, back)
    const [event] = (await readGroup(store, MESSAGE_TOPIC, 'g', 'lease', { lease: 100 })).items
    assert.equal(event?.id, back)
    await acceptAll(
      store,
      Array.from({ length: 500 }, () => 'x'),
      { conversation: here },
    )
    for (const next of [
      async () => (await store.receive.take({}))?.message.id,
      async () => (await readGroup(store, MESSAGE_TOPIC, 'g', 'consume', { max: 1 })).items[0]?.id,
    ]) {
      let count = 0
      await until(async () => {
        assert.ok(++count < 500, 'not only once all else was taken')
        return (await next()) === back
      }, 'what came back')
    }
  })

  test('runs jobs beyond the limit of their group as soon as there is a place', async (t) => {
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
    await until(() => ran.length === jobs.length, 'all of them')
    assert.equal(new Set(ran).size, jobs.length)
  })

  test('keeps the number with which it began, and refuses another', async (t) => {
    const { open } = await redisOf(t)
    const many = await open({ shards: 3, prefix: 'many' })
    assert.equal(many.topics.partitions(MESSAGE_TOPIC), 3)
    await assert.rejects(open({ shards: 4, prefix: 'many' }), { code: 'store_shards', message: /set 3/ })
    assert.equal((await open({ prefix: 'many' })).topics.partitions(MESSAGE_TOPIC), 3)
    await acceptAll(await open({ prefix: 'one' }), ['x'])
    await assert.rejects(open({ shards: 4, prefix: 'one' }), { code: 'store_shards' })
  })

  test('goes on with the others while a master hangs, and says which messages it did not take', async (t) => {
    const cluster = await startRedisCluster()
    t.after(() => cluster.stop())
    const store = await openStore(cluster.url, { commandTimeout: 500 })
    t.after(() => store.close())
    const messages = CONVERSATIONS.map((conversation) => saying('x', { conversation, key: conversation }))
    cluster.nodes[1]?.freeze()
    const answers = await store.journal.accept(messages)
    const codes = new Set(answers.map(({ error }) => Object(error).code))
    assert.deepEqual(codes, new Set([undefined, 'store_unavailable']))
    const door = createAccept({
      journal: store.journal,
      accepted: () => {},
      refused: () => {},
      maxPending: 100,
      maxBacklog: 100,
    })
    const ends = await Promise.allSettled(messages.map(door.accept))
    assert.deepEqual(
      ends.map(({ status }) => status === 'fulfilled'),
      answers.map(({ error }) => error === undefined),
    )
    await store.ping()
    cluster.nodes[1]?.resume()
    const all = await until(async () => {
      const again = await store.journal.accept(messages)
      return again.every(({ error }) => error === undefined) ? again : undefined
    }, 'the master')
    assert.equal(new Set(all.map(({ id }) => id)).size, messages.length)
    assert.equal((await store.stats()).journal.messages, messages.length)
  })

  test('takes, reads and counts what the other shards have while a master hangs, and waits for it once', async (t) => {
    const cluster = await startRedisCluster()
    t.after(() => cluster.stop())
    const timeout = 1_000
    const store = await openStore(cluster.url, { commandTimeout: timeout })
    t.after(() => store.close())
    for (const group of ['consumed', 'peeked']) await store.topics.subscribe(MESSAGE_TOPIC, group, 'now')
    await store.journal.accept(CONVERSATIONS.map((conversation) => saying('x', { conversation })))
    cluster.nodes[1]?.freeze()
    await Promise.allSettled([store.stats()])
    const begun = performance.now()
    const { away = [], journal } = await store.stats()
    assert.ok(away.length > 0 && away.length < 16, `${away.length} away`)
    assert.ok(journal.messages > 0 && journal.messages < CONVERSATIONS.length)
    const taken: string[] = []
    for (let one = await store.receive.take({}, 60_000); one; one = await store.receive.take({}, 60_000))
      taken.push(one.message.id)
    const read = async (group: string, mode: 'consume' | 'peek') =>
      (await store.topics.read(MESSAGE_TOPIC, [{ group, mode, max: 500 }]))[0]?.items ?? []
    assert.equal((await read('peeked', 'peek')).length, journal.messages)
    assert.equal((await read('consumed', 'consume')).length, journal.messages)
    assert.equal(new Set(taken).size, journal.messages)
    assert.ok((await store.topics.groups(MESSAGE_TOPIC)).length === 2)
    const took = performance.now() - begun
    await assertPrompt('all this', took, 5 * timeout)

    cluster.nodes[1]?.resume()
    await until(async () => (await store.stats()).away === undefined, 'the shards of the master')
    while (taken.length < CONVERSATIONS.length) {
      const one = await store.receive.take({}, 60_000)
      if (one) taken.push(one.message.id)
    }
    assert.equal(new Set(taken).size, CONVERSATIONS.length)
    assert.equal((await read('consumed', 'consume')).length, CONVERSATIONS.length - journal.messages)
  })

  test('moves a group on all shards or, while a master hangs, on none', async (t) => {
    const cluster = await startRedisCluster()
    t.after(() => cluster.stop())
    const store = await openStore(cluster.url, { commandTimeout: 500 })
    t.after(() => store.close())
    const read = async () =>
      (await store.topics.read(MESSAGE_TOPIC, [{ group: 'g', mode: 'consume', max: 500 }]))[0]?.items ?? []
    await store.topics.subscribe(MESSAGE_TOPIC, 'g', 'start')
    await store.journal.accept(CONVERSATIONS.map((conversation) => saying('x', { conversation })))
    assert.equal((await read()).length, CONVERSATIONS.length)
    cluster.nodes[1]?.freeze()
    await assert.rejects(store.topics.seek(MESSAGE_TOPIC, 'g', 'start'), { code: 'store_unavailable' })
    cluster.nodes[1]?.resume()
    await until(async () => (await store.stats()).away === undefined, 'the shards of the master')
    assert.deepEqual(await read(), [])
    assert.equal(await store.topics.seek(MESSAGE_TOPIC, 'g', 'start'), true)
    // A shard may be away once more for a moment: what is read comes in pieces then, each event once.
    let count = 0
    await until(async () => {
      count += (await read()).length
      return count >= CONVERSATIONS.length
    }, 'all events again')
    assert.equal(count, CONVERSATIONS.length)
    assert.equal(await store.topics.seek(MESSAGE_TOPIC, 'nobody', 'start'), false)
  })

  test('says of a seek that failed between two shards how far it came; the next completes it', async () => {
    const moved: number[] = []
    let fails = true
    const shards = [0, 1, 2].map((shard) => ({
      ping: async () => {},
      topics: {
        groups: async () => [],
        async seek() {
          if (shard === 1 && fails)
            throw new TriviumError('store_unavailable', { store: 's', reason: 'reset' })
          moved.push(shard)
          return shard !== 2
        },
        async subscribe(_topic: string, _group: string, from: string) {
          assert.equal(from, 'now')
          moved.push(20)
          return { created: true }
        },
      },
    }))
    await assert.rejects(seekAll(shards, 'g', 'now'), {
      code: 'store_unavailable',
      message: /moved on 2 of 3 shards; seek again.*reset/,
    })
    assert.deepEqual(moved, [0, 2, 20], 'each once; one that lacked the group begins where it is to begin')
    fails = false
    assert.equal(await seekAll(shards, 'g', 'now'), true)
    assert.ok(moved.includes(1))
  })

  test('a seek that a script refuses in the middle leaves what the group holds', async (t) => {
    const { open, client } = await redisOf(t)
    const store = await open({ prefix: 'torn' })
    await store.topics.subscribe(MESSAGE_TOPIC, 'g', 'start')
    await acceptAll(store, ['a', 'b'])
    await readGroup(store, MESSAGE_TOPIC, 'g', 'lease', { lease: 60_000 })
    const redis = client()
    const [used = ''] = await redis.keys('*used')
    await redis.rename(used, `${used}-aside`)
    await redis.set(used, 'of another program')
    await assert.rejects(store.topics.seek(MESSAGE_TOPIC, 'g', 'now'))
    await redis.rename(`${used}-aside`, used)
    const [g] = await store.topics.groups(MESSAGE_TOPIC)
    assert.deepEqual([g?.lag, g?.pending], [0, 2])
    assert.equal(await store.topics.seek(MESSAGE_TOPIC, 'g', 'start'), true)
    assert.equal((await readGroup(store, MESSAGE_TOPIC, 'g', 'consume')).items.length, 2)
  })

  test('ends the jobs of the others while a master hangs that has some of those that ran with them', async (t) => {
    const cluster = await startRedisCluster()
    t.after(() => cluster.stop())
    const store = await openStore(cluster.url, { commandTimeout: 500 })
    t.after(() => store.close())
    const jobs = CONVERSATIONS.map((lane) => ({ id: `job-${lane}`, lane, group: 'g', data: {} }))
    await store.jobs.add('q', jobs)
    const { promise: isFrozen, resolve: go } = Promise.withResolvers<void>()
    let begun = 0
    let ended = 0
    const worker = createWorker({
      queue: 'q',
      store,
      concurrency: jobs.length,
      async run() {
        begun++
        await isFrozen
        return { outcome: 'done' }
      },
      settled: () => ended++,
      log: silent,
      now: Date.now,
    })
    worker.start()
    t.after(() => worker.stop(0))
    await until(() => begun === jobs.length, 'all of them')
    cluster.nodes[1]?.freeze()
    go()
    await until(() => ended > 0, 'those on the other masters')
    assert.ok(ended < jobs.length)
    cluster.nodes[1]?.resume()
  })

  test('asks for no more jobs where a shard is away, so that what the others gave can begin', async () => {
    const asked: number[] = []
    const job = { id: 'a', lane: 'l', group: 'g', token: 't', failures: 0, lost: 0, errors: [] }
    const shards = Array.from({ length: 4 }, (_, shard) => ({
      jobs: {
        deadLetters: {},
        async claim() {
          asked.push(shard)
          if (shard === 1) return { items: [job], more: false }
          throw new TriviumError('store_unavailable', { store: 's', reason: 'it hangs' })
        },
      },
    }))
    const owners = { own: new Set<number>(), begin: async () => {}, stop: async () => {} }
    const owned = createOwned(4, owners, () => () => {})
    const time = Date.now()
    const jobs = createShardedJobs(shards as never, createLayout(4), owned, () => time)
    const { items: found, nextDue = 0 } = await jobs.claim('q', { max: 9, lease: 1_000 })
    assert.deepEqual([found.map(({ id }) => id), asked], [['a'], [1, 2]])
    assert.ok(nextDue > time, 'it is asked again')
  })

  test('loses nothing and hands out nothing twice while the slot of a shard is moved under load', async (t) => {
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

  test('the shards of one that is killed are dispatched by the other within five seconds', async () => {
    const daemons = [await site.start(), await site.start({ TRIVIUM_DATA_DIR: '.trivium-2' })] as const
    const [victim, survivor] = daemons
    const send = () =>
      Promise.all(
        CONVERSATIONS.map((conversation) => survivor.post('/hooks/work', JSON.stringify({ conversation }))),
      )
    const isDone = async (count: number) => {
      const { stats } = Object(Object(await survivor.get('/v1/status')).result)
      const open = Object.values(stats.jobs).map((queue) => Object(queue).waiting + Object(queue).running)
      return stats.journal.messages === count && stats.dispatch.unpumped + Math.max(0, ...open) === 0
    }
    await send()
    await until(() => isDone(CONVERSATIONS.length), 'all to be dispatched', 20_000)
    await victim.end('SIGKILL')
    const began = performance.now()
    await send()
    await until(() => isDone(2 * CONVERSATIONS.length), 'those of the one that is gone', 20_000)
    const took = performance.now() - began
    // The lease of 4 s, a look each 1.3 s, and a margin.
    await assertPrompt('the take-over', took, 6_500)
  })
})
