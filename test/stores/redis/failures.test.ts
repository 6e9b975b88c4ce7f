import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { Redis } from 'ioredis'
import type { Store } from '../../../src/core/store.ts'
import { checkRedis } from '../../../src/stores/redis/check.ts'
import { digest } from '../../../src/stores/redis/roots.ts'
import { claimIds, claimJobs, dataOf, job, publishAll, saying, silent } from '../../contract/store/kit.ts'
import { assertPrompt } from '../../fixtures/in-time.ts'
import { type RedisServer, startRedisServer } from '../../fixtures/redis-server.ts'
import { until } from '../../fixtures/until.ts'
import { openStore, redisOf } from './kit.ts'

describe('a Redis that fails', () => {
  let server: RedisServer
  let store: Store

  before(async () => {
    server = await startRedisServer()
    store = await openStore(server.url, { commandTimeout: 500 })
  })
  after(async () => {
    await store.close()
    await server.stop()
  })

  const isReachable = () =>
    store.ping().then(
      () => true,
      () => false,
    )

  test('calls to an unreachable Redis fail immediately, and succeed again once it is back', async () => {
    await server.kill()
    await until(async () => !(await isReachable()), 'the end of the connection')
    const began = performance.now()
    await assert.rejects(store.journal.accept([saying('x')]), { code: 'store_unavailable', retryable: true })
    await assertPrompt('the refusal', performance.now() - began, 1_500)
    await server.start()
    await until(isReachable, 'the connection')
    const [answer] = await store.journal.accept([saying('x')])
    assert.equal(answer?.duplicate, false)
  })

  test('a reconnect calls every listener, and signals arrive again', async () => {
    let signals = 0
    let others = 0
    const end = store.onSignal('topic:any', () => signals++)
    const endOther = store.onSignal('topic:other', () => others++)
    await server.kill()
    await server.start()
    await until(() => signals > 0 && others > 0, 'the calls after the reconnect')
    await until(isReachable, 'the connection')
    const before = signals
    await store.topics.publish('any', [{ type: 'x', source: 's', data: 1 }])
    await until(() => signals > before, 'the signal')
    end()
    endOther()
  })

  test('an accept that fails half-way leaves nothing behind, and can be repeated', async (t) => {
    const { open, client } = await redisOf(t)
    const store = await open()
    const redis = client()
    await store.journal.accept([saying('first')])
    const texts = async () => {
      const { items } = await store.journal.unpumped(99)
      return items.map(({ text }) => text)
    }
    const conversation = `{trivium}:conversation:${digest('c')}`
    /** The hash in which Redis keeps an idempotency key. */
    const bucketOf = (key: string) => {
      const name = digest('demo', key)
      return `{trivium}:seen:${name.slice(0, 2)}${name.charCodeAt(2) % 4}`
    }
    const messages = [
      saying('a', { key: 'a' }),
      saying('b', { conversation: 'c' }),
      saying('c', { key: 'c', conversation: 'c' }),
    ]
    // The script writes these keys in different steps.
    for (const key of [
      '{trivium}:gateways',
      '{trivium}:ready',
      '{trivium}:ready:demo',
      conversation,
      bucketOf('a'),
      bucketOf('c'),
    ]) {
      const backup = await redis.dumpBuffer(key)
      await redis.set(key, 'of another program')
      await assert.rejects(store.journal.accept(messages), /WRONGTYPE/, key)
      await redis.del(key)
      if (backup) await redis.restore(key, 0, backup)
      assert.deepEqual(await texts(), ['first'], key)
      assert.equal((await store.stats()).receive.ready, 1, key)
    }
    const accepted = await store.journal.accept(messages)
    assert.deepEqual(
      accepted.map(({ duplicate }) => duplicate),
      [false, false, false],
    )
    assert.deepEqual(await texts(), ['first', 'a', 'b', 'c'])
    const taken: (string | undefined)[] = []
    for (let take = 0; take < 5; take++) taken.push((await store.receive.take({}))?.message.text)
    assert.deepEqual(taken, ['first', 'a', 'b', 'c', undefined])
    assert.equal((await store.receive.take({ conversation: 'c' }))?.message.text, undefined)
  })

  test('a journal that is ahead of its stored position continues after its newest entry', async (t) => {
    const { open, client } = await redisOf(t)
    const store = await open()
    await store.journal.accept([saying('a')])
    const [entry] = await client().xrange('{trivium}:journal', '1-0', '1-0')
    const fields = entry?.[1] ?? []
    await client().xadd('{trivium}:journal', '2-0', ...fields)
    const [next] = await store.journal.accept([saying('b', { key: 'b' })])
    assert.equal(next?.duplicate, false)
    assert.equal((await store.journal.accept([saying('b', { key: 'b' })]))[0]?.id, next?.id)
    assert.equal((await store.journal.get(next?.id ?? ''))?.text, 'b')
  })

  test('a pump step that fails half-way is repeated with the same messages', async (t) => {
    const { open, client } = await redisOf(t)
    const store = await open()
    const redis = client()
    const ids = (await store.journal.accept([saying('a'), saying('b')])).map(({ id }) => id)
    const jobs = ids.map((id, index) => job(id, `l${index}`, { messageId: id }))
    const { cursor } = await store.journal.unpumped(9)
    await redis.set('{trivium}:jobs:dispatch:lane:l1', 'of another program')
    await assert.rejects(store.journal.pumped(cursor, ids[1] ?? '', jobs), /WRONGTYPE/)
    assert.equal((await store.journal.unpumped(9)).items.length, 2)
    await redis.del('{trivium}:jobs:dispatch:lane:l1')
    assert.equal(await store.journal.pumped(cursor, ids[1] ?? '', jobs), true)
    assert.deepEqual((await claimIds(store, 'dispatch')).sort(), ids)
    assert.deepEqual(await claimIds(store, 'dispatch'), [])
  })

  test('a take skips messages that an older Trivium trimmed only from the journal', async (t) => {
    const { open, client } = await redisOf(t)
    const store = await open()
    await store.journal.accept(['a', 'b', 'c'].map((text) => saying(text)))
    await client().xdel('{trivium}:journal', '1-0', '2-0')
    assert.equal((await store.receive.take({}))?.message.text, 'c')
    assert.equal(await store.receive.take({}), undefined)
    assert.equal((await store.stats()).receive.ready, 0)
  })

  test('dispatches a message that took the position of one that Redis lost', async (t) => {
    const { server: lossy, open } = await redisOf(t, ['--appendonly', 'no'])
    const [store, other] = [await open(), await open()]
    await store.journal.unpumped(9)
    await store.journal.accept([saying('lost')])
    await lossy.kill()
    await lossy.start()
    await until(
      () => other.journal.accept([saying('accepted elsewhere')]).catch(() => 0),
      'the other connection',
    )
    await until(() => store.journal.accept([saying('accepted here')]).catch(() => 0), 'the connection')
    const { items: messages } = await store.journal.unpumped(9)
    assert.deepEqual(
      messages.map(({ text }) => text),
      ['accepted elsewhere', 'accepted here'],
    )
  })

  test('a full Redis and a replica refuse writes with the reason, and lose nothing', async () => {
    const [earlier] = await store.journal.accept([saying('earlier', { key: 'earlier' })])
    const admin = new Redis(server.url)
    const refused = (message: RegExp) =>
      assert.rejects(store.journal.accept([saying('x')]), { code: 'store_unavailable', message })
    await admin.config('SET', 'maxmemory', '1')
    await refused(/maxmemory/)
    const used = Number(/used_memory:(\d+)/.exec(await admin.info('memory'))?.[1])
    await admin.config('SET', 'maxmemory', used + 2 * 1024 ** 2)
    // `ping` refuses early: a small write would still fit, but the next large message would not.
    await assert.rejects(store.ping(), { code: 'store_unavailable', message: /almost full.*less than 4 MiB/ })
    await admin.config('SET', 'maxmemory', used + 64 * 1024 ** 2)
    await store.ping()
    await admin.config('SET', 'maxmemory', '0')
    await admin.replicaof('127.0.0.1', 1)
    await refused(/READONLY|replica|no connection/)
    await admin.replicaof('NO', 'ONE')
    admin.disconnect()
    await until(isReachable, 'the connection')
    assert.equal((await store.journal.get(earlier?.id ?? ''))?.text, 'earlier')
  })

  test('logs once that a server is read-only, and once that it accepts writes again', async (t) => {
    const { client, open } = await redisOf(t)
    const lines: string[] = []
    const note = (_: object, message: string) => void lines.push(message)
    const store = await open({ log: { ...silent, warn: note, info: note } })
    const admin = client()
    await admin.replicaof('127.0.0.1', 1)
    const reads = () =>
      store.kv.get('x').then(
        () => true,
        () => false,
      )
    for (let n = 0; n < 5; n++) {
      await assert.rejects(store.journal.accept([saying('x')]))
      await until(reads, 'the connection')
    }
    await admin.replicaof('NO', 'ONE')
    await until(() => store.journal.accept([saying('x')]).catch(() => 0), 'the master')
    await until(() => lines.some((line) => line.endsWith('is back')), 'the line about its return')
    assert.deepEqual(lines, ['the store cannot be used; trying again', 'the store is back'])
  })

  test('a key of another type is an error that names it', async (t) => {
    const foreign = await openStore(server.url, { prefix: 'foreign' })
    t.after(() => foreign.close())
    const admin = new Redis(server.url)
    t.after(() => admin.disconnect())
    for (const key of ['{foreign}:journal', '{foreign}:meta']) {
      await admin.set(key, 'text')
      const refused = foreign.journal.accept([saying('a', { key: 'a' })])
      await assert.rejects(refused, { code: 'store_unreadable', message: /WRONGTYPE/ })
      await admin.del(key)
    }
    assert.equal((await foreign.journal.accept([saying('a', { key: 'a' })]))[0]?.duplicate, false)
  })

  test('the start fails within its timeout if there is no Redis', async () => {
    const began = performance.now()
    await assert.rejects(openStore('redis://127.0.0.1:1', { connectTimeout: 300 }), {
      code: 'store_unavailable',
      message: /redis:\/\/127\.0\.0\.1:1/,
    })
    await assertPrompt('the start', performance.now() - began, 5_000)
  })

  test('the start fails for a user without `subscribe`, and succeeds without `info`', async () => {
    const admin = new Redis(server.url)
    const user = (name: string, ...rules: string[]) =>
      admin.acl('SETUSER', name, 'on', '>pw', '~*', '&*', '+@all', ...rules)
    await user('no-subscribe', '-subscribe')
    await user('no-info', '-info')
    admin.disconnect()
    const as = (name: string) => server.url.replace('//', `//${name}:pw@`)
    await assert.rejects(openStore(as('no-subscribe'), { connectTimeout: 500 }), {
      code: 'store_unavailable',
      message: /^(?!.*pw@).*subscribe/,
    })
    const store = await openStore(as('no-info'))
    await store.ping()
    await store.close()
  })

  test('the ACL in docs/stores.md is sufficient, and an error names a missing right', async () => {
    const [, rules = ''] = /ACL SETUSER trivium on (.*)/.exec(readFileSync('docs/stores.md', 'utf8')) ?? []
    const admin = new Redis(server.url)
    await admin.call('ACL', 'SETUSER', 'trivium', 'on', ...rules.split(' '))
    const url = server.url.replace('//', '//trivium:secret@')
    const fsync = (await checkRedis({ url, log: silent })).find(({ name }) => name === 'Redis: appendfsync')
    assert.match(fsync?.detail ?? '', /not shown/, 'an unreadable setting is not reported as correct')
    const store = await openStore(url, { prefix: 'trivium' })
    const [first] = await store.journal.accept([saying('a', { key: 'a', conversation: 'c' })])
    await store.jobs.add('q', [{ id: 'a', lane: 'l', group: 'g', messageId: first?.id ?? '' }])
    const { items: jobs } = await store.jobs.claim('q', { max: 1, lease: 1_000 })
    await store.jobs.settle(
      'q',
      jobs.map(({ id, token }) => ({ id, token, outcome: 'done' })),
    )
    await store.topics.subscribe('t', 'g', 'now')
    await store.topics.read('t', [{ group: 'g', max: 1, mode: 'consume' }])
    await store.kv.set('k', 1, { ttl: 1_000 })
    await store.leases.acquire('l', 'me', 1_000)
    await store.receive.take({ conversation: 'c' })
    await store.trim({ journal: { maxAge: 1, maxCount: 1 } })
    await store.stats()
    await admin.call('ACL', 'SETUSER', 'trivium', '-xadd')
    await assert.rejects(store.journal.accept([saying('b')]), { code: 'store_unavailable', message: /XADD/ })
    await store.close()
    admin.disconnect()
  })

  test('refuses data of a newer Trivium', async () => {
    const admin = new Redis(server.url)
    await (await openStore(server.url, { prefix: 'newer' })).close()
    assert.equal(await admin.get('{newer}:format'), '2')
    await admin.set('{newer}:format', '3')
    await assert.rejects(openStore(server.url, { prefix: 'newer' }), {
      code: 'store_version',
      message: /version 3/,
    })
    admin.disconnect()
  })

  test('items whose delivery failed are handed out again, in order and once', async () => {
    while (await store.receive.take({}));
    await store.journal.accept([saying('a'), saying('b')])
    await store.jobs.add('redelivery', [job('a', 'l')])
    for (const group of ['g', 'h']) await store.topics.subscribe('redelivery', group, 'start')
    await publishAll(store, 'redelivery', ['a', 'b'])
    const take = async () => (await store.receive.take({}))?.message.text
    const claim = async () => (await claimJobs(store, 'redelivery', { max: 1 })).items
    const requests = ['g', 'h'].map((group) => ({ group, max: 10, mode: 'consume' as const }))
    const read = () => store.topics.read('redelivery', requests)
    server.freeze()
    for (const call of await Promise.allSettled([take(), claim(), read()]))
      assert.equal(call.status === 'rejected' && call.reason.code, 'store_unavailable')
    server.resume()
    await until(isReachable, 'an answer')
    await publishAll(store, 'redelivery', ['c'])
    assert.deepEqual([await take(), await take(), await take()], ['a', 'b', undefined])
    const [claimed] = await claim()
    assert.deepEqual([claimed?.id, claimed?.lost, claimed?.failures], ['a', 0, 0])
    for (const batch of await read())
      assert.deepEqual([dataOf(batch ?? { items: [] }), batch?.missed], [['a', 'b', 'c'], 0])
    for (const batch of await read()) assert.deepEqual(batch?.items, [])
  })

  for (const isBusy of [true, false])
    test(`items whose delivery failed at an ${isBusy ? 'active' : 'idle'} daemon go to one that waits`, async (t) => {
      const other = await openStore(server.url)
      t.after(() => other.close())
      const request = { group: 'g', max: 9, mode: 'consume' as const }
      const read = async (from: Store) => (await from.topics.read('u', [request]))[0]?.items[0]?.data
      await store.topics.subscribe('u', 'g', 'start')
      await Promise.all([store.receive.take({}), read(store)])
      await store.journal.accept([saying('a')])
      await publishAll(store, 'u', ['b'])
      server.freeze()
      await Promise.allSettled([store.receive.take({}), read(store)])
      const signals = new Set<string>()
      for (const name of ['receive', 'topic:u'] as const)
        t.after(other.onSignal(name, () => signals.add(name)))
      server.resume()
      // The ping is on the same connection as the calls, so Redis has answered these before it.
      await until(isReachable, 'an answer')
      if (isBusy) {
        await store.receive.take({ gateway: 'x' })
        await store.topics.read('u', [{ ...request, group: 'x' }])
      }
      await until(() => signals.size === 2, 'the signals')
      assert.equal((await other.receive.take({}))?.message.text, 'a')
      assert.equal(await read(other), 'b')
    })
})
