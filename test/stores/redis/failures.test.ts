import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { Redis } from 'ioredis'
import type { Store } from '../../../src/core/store.ts'
import { checkRedis } from '../../../src/stores/redis/check.ts'
import { digest } from '../../../src/stores/redis/roots.ts'
import { saying, silent } from '../../contract/store/kit.ts'
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

  const answers = () =>
    store.ping().then(
      () => true,
      () => false,
    )

  test('an away Redis is refused at once with store_unavailable, and used again once it is back', async () => {
    await server.kill()
    await until(async () => !(await answers()), 'the end of the connection')
    const began = performance.now()
    await assert.rejects(store.journal.accept([saying('x')]), { code: 'store_unavailable', retryable: true })
    await assertPrompt('the refusal', performance.now() - began, 1_500)
    await server.start()
    await until(answers, 'the connection')
    const [answer] = await store.journal.accept([saying('x')])
    assert.equal(answer?.duplicate, false)
  })

  test('after a reconnect every listener is called, and hears signals again', async () => {
    let heard = 0
    const end = store.onSignal('topic:any', () => heard++)
    await server.kill()
    await server.start()
    await until(() => heard > 0, 'the call after the reconnect')
    await until(answers, 'the connection')
    const before = heard
    await store.topics.publish('any', [{ type: 'x', source: 's', data: 1 }])
    await until(() => heard > before, 'the signal')
    end()
  })

  test('a command that fails in the middle leaves nothing of its messages, and nothing later fails for it', async (t) => {
    const { open, client } = await redisOf(t)
    const store = await open()
    const redis = client()
    const [first] = await store.journal.accept([saying('first')])
    const texts = async () => {
      const { items: messages } = await store.journal.unpumped(99)
      return messages.map(({ text }) => text)
    }
    const conversation = `{trivium}:conversation:${digest('c')}`
    const bucketOf = (key: string) => {
      const name = digest('demo', key)
      return `{trivium}:seen:${name.slice(0, 2)}${name.charCodeAt(2) % 4}`
    }
    const whole = [
      saying('a', { key: 'a' }),
      saying('b', { conversation: 'c' }),
      saying('c', { key: 'c', conversation: 'c' }),
    ]
    for (const key of [
      '{trivium}:gateways',
      '{trivium}:ready',
      '{trivium}:ready:demo',
      conversation,
      bucketOf('a'),
      bucketOf('c'),
    ]) {
      const kept = await redis.dumpBuffer(key)
      await redis.set(key, 'of another program')
      await assert.rejects(store.journal.accept(whole), /WRONGTYPE/, key)
      await redis.del(key)
      if (kept) await redis.restore(key, 0, kept)
      assert.deepEqual(await texts(), ['first'], key)
      assert.deepEqual((await store.stats()).receive.ready, 1, key)
    }
    const answers = await store.journal.accept(whole)
    assert.deepEqual(
      answers.map(({ duplicate }) => duplicate),
      [false, false, false],
    )
    assert.deepEqual(await texts(), ['first', 'a', 'b', 'c'])
    const taken: (string | undefined)[] = []
    for (let n = 0; n < 5; n++) taken.push((await store.receive.take({}))?.message.text)
    assert.deepEqual(taken, ['first', 'a', 'b', 'c', undefined])
    assert.equal((await store.receive.take({ conversation: 'c' }))?.message.text, undefined)
    assert.ok(first)
  })

  test('a journal whose newest entries were never noted goes on behind them', async (t) => {
    const { open, client } = await redisOf(t)
    const store = await open()
    await store.journal.accept([saying('a')])
    const [[, fields] = []] = await client().xrange('{trivium}:journal', '1-0', '1-0')
    await client().xadd('{trivium}:journal', '2-0', ...(fields ?? []))
    const [next] = await store.journal.accept([saying('b', { key: 'b' })])
    assert.equal(next?.duplicate, false)
    assert.equal((await store.journal.accept([saying('b', { key: 'b' })]))[0]?.id, next?.id)
    assert.equal((await store.journal.get(next?.id ?? ''))?.text, 'b')
  })

  test('a pump that fails in the middle comes again with the same messages', async (t) => {
    const { open, client } = await redisOf(t)
    const store = await open()
    const redis = client()
    const ids = (await store.journal.accept([saying('a'), saying('b')])).map(({ id }) => id)
    const jobs = ids.map((id, at) => ({ id, lane: `l${at}`, group: 'g', messageId: id }))
    const { cursor } = await store.journal.unpumped(9)
    await redis.set('{trivium}:jobs:dispatch:lane:l1', 'of another program')
    await assert.rejects(store.journal.pumped(cursor, ids[1] ?? '', jobs), /WRONGTYPE/)
    assert.equal((await store.journal.unpumped(9)).items.length, 2)
    await redis.del('{trivium}:jobs:dispatch:lane:l1')
    assert.equal(await store.journal.pumped(cursor, ids[1] ?? '', jobs), true)
    const claimed: string[] = []
    for (let n = 0; n < 3; n++) {
      const found = await store.jobs.claim('dispatch', { max: 9, lease: 60_000 })
      claimed.push(...found.items.map(({ id }) => id))
    }
    assert.deepEqual(claimed.sort(), [...ids].sort())
  })

  test('a take passes over what retention of an older Trivium removed from the journal', async (t) => {
    const { open, client } = await redisOf(t)
    const store = await open()
    await store.journal.accept(['a', 'b', 'c'].map((text) => saying(text)))
    await client().xdel('{trivium}:journal', '1-0', '2-0')
    assert.equal((await store.receive.take({}))?.message.text, 'c')
    assert.equal(await store.receive.take({}), undefined)
    assert.equal((await store.stats()).receive.ready, 0)
  })

  test('what another accepted in the place of a message that Redis lost is dispatched', async (t) => {
    const { server: lossy, open } = await redisOf(t, ['--appendonly', 'no'])
    const [one, other] = [await open(), await open()]
    await one.journal.unpumped(9)
    await one.journal.accept([saying('lost')])
    await lossy.kill()
    await lossy.start()
    await until(() => other.journal.accept([saying('of the other')]).catch(() => 0), 'the other to be back')
    await until(() => one.journal.accept([saying('own')]).catch(() => 0), 'the one to be back')
    const { items: messages } = await one.journal.unpumped(9)
    assert.deepEqual(
      messages.map(({ text }) => text),
      ['of the other', 'own'],
    )
  })

  test('full memory and a replica refuse what writes, say so, and lose nothing', async () => {
    const [kept] = await store.journal.accept([saying('kept', { key: 'kept' })])
    const admin = new Redis(server.url)
    const refused = (message: RegExp) =>
      assert.rejects(store.journal.accept([saying('x')]), { code: 'store_unavailable', message })
    await admin.config('SET', 'maxmemory', '1')
    await refused(/maxmemory/)
    const used = Number(/used_memory:(\d+)/.exec(await admin.info('memory'))?.[1])
    await admin.config('SET', 'maxmemory', used + 2 * 1024 ** 2)
    // A probe would still fit, and the next large message would not.
    await assert.rejects(store.ping(), { code: 'store_unavailable', message: /almost full.*less than 4 MiB/ })
    await admin.config('SET', 'maxmemory', used + 64 * 1024 ** 2)
    await store.ping()
    await admin.config('SET', 'maxmemory', '0')
    await admin.replicaof('127.0.0.1', 1)
    await refused(/READONLY|replica|no connection/)
    await admin.replicaof('NO', 'ONE')
    admin.disconnect()
    await until(answers, 'the connection')
    assert.equal((await store.journal.get(kept?.id ?? ''))?.text, 'kept')
  })

  test('while a server is read-only the log says so once, and once that it is back', async (t) => {
    const { client, open } = await redisOf(t)
    const said: string[] = []
    const note = (_: object, message: string) => void said.push(message)
    const own = await open({ log: { ...silent, warn: note, info: note } })
    const admin = client()
    await admin.replicaof('127.0.0.1', 1)
    const reads = () =>
      own.kv.get('x').then(
        () => true,
        () => false,
      )
    for (let n = 0; n < 5; n++) {
      await assert.rejects(own.journal.accept([saying('x')]))
      await until(reads, 'the connection')
    }
    await admin.replicaof('NO', 'ONE')
    await until(() => own.journal.accept([saying('x')]).catch(() => 0), 'the master')
    await until(() => said.some((line) => line.endsWith('is back')), 'the news')
    assert.deepEqual(said, ['the store cannot be used; trying again', 'the store is back'])
  })

  test('keys that hold something else are named as that', async (t) => {
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

  test('a Redis that is not there fails the start within its time', async () => {
    const began = performance.now()
    await assert.rejects(openStore('redis://127.0.0.1:1', { connectTimeout: 300 }), {
      code: 'store_unavailable',
      message: /redis:\/\/127\.0\.0\.1:1/,
    })
    await assertPrompt('the start', performance.now() - began, 5_000)
  })

  test('a user who may not subscribe is refused at the start, one who may not look is warned', async () => {
    const admin = new Redis(server.url)
    const user = (name: string, ...rules: string[]) =>
      admin.acl('SETUSER', name, 'on', '>pw', '~*', '&*', '+@all', ...rules)
    await user('deaf', '-subscribe')
    await user('blind', '-info')
    admin.disconnect()
    const as = (name: string) => server.url.replace('//', `//${name}:pw@`)
    await assert.rejects(openStore(as('deaf'), { connectTimeout: 500 }), {
      code: 'store_unavailable',
      message: /^(?!.*pw@).*subscribe/,
    })
    const blind = await openStore(as('blind'))
    await blind.ping()
    await blind.close()
  })

  test('the rights in docs/stores.md are enough, and one that is missing is named', async () => {
    const [, rules = ''] = /ACL SETUSER trivium on (.*)/.exec(readFileSync('docs/stores.md', 'utf8')) ?? []
    const admin = new Redis(server.url)
    await admin.call('ACL', 'SETUSER', 'trivium', 'on', ...rules.split(' '))
    const url = server.url.replace('//', '//trivium:secret@')
    const fsync = (await checkRedis({ url, log: silent })).find(({ name }) => name === 'Redis: appendfsync')
    assert.match(fsync?.detail ?? '', /not shown/, 'what may not be asked is not called well')
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

  test('data of a newer Trivium are refused and left as they are', async () => {
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

  test('what was handed out and never heard of comes again, in order: to the next caller, and to no other', async () => {
    for (let left = true; left; ) left = (await store.receive.take({})) !== undefined
    await store.journal.accept([saying('a'), saying('b')])
    await store.jobs.add('heard', [{ id: 'a', lane: 'l', group: 'g' }])
    for (const group of ['g', 'h']) await store.topics.subscribe('handed', group, 'start')
    const publish = (data: string) => store.topics.publish('handed', [{ type: 'x', source: 's', data }])
    for (const data of ['a', 'b']) await publish(data)
    const take = async () => (await store.receive.take({}))?.message.text
    const claim = async () => (await store.jobs.claim('heard', { max: 1, lease: 60_000 })).items
    const requests = ['g', 'h'].map((group) => ({ group, max: 10, mode: 'consume' as const }))
    const read = () => store.topics.read('handed', requests)
    server.freeze()
    for (const unheard of await Promise.allSettled([take(), claim(), read()]))
      assert.equal(unheard.status === 'rejected' && unheard.reason.code, 'store_unavailable')
    server.resume()
    await until(answers, 'an answer')
    await publish('c')
    assert.deepEqual([await take(), await take(), await take()], ['a', 'b', undefined])
    const [job] = await claim()
    assert.deepEqual([job?.id, job?.lost, job?.failures], ['a', 0, 0])
    for (const batch of await read())
      assert.deepEqual([batch?.items.map(({ data }) => data), batch?.missed], [['a', 'b', 'c'], 0])
    for (const batch of await read()) assert.deepEqual(batch?.items, [])
  })

  for (const asks of [true, false])
    test(`what was never heard of goes to who waits at another daemon, though ${asks ? 'another' : 'nobody'} asks here`, async (t) => {
      const other = await openStore(server.url)
      t.after(() => other.close())
      const wait = { group: 'g', max: 9, mode: 'consume' as const }
      const read = async (from: Store) => (await from.topics.read('elsewhere', [wait]))[0]?.items[0]?.data
      await store.topics.subscribe('elsewhere', 'g', 'start')
      await Promise.all([store.receive.take({}), read(store)])
      await store.journal.accept([saying('a')])
      await store.topics.publish('elsewhere', [{ type: 'x', source: 's', data: 'b' }])
      server.freeze()
      await Promise.allSettled([store.receive.take({}), read(store)])
      const woken = new Set<string>()
      for (const name of ['receive', 'topic:elsewhere'] as const)
        t.after(other.onSignal(name, () => woken.add(name)))
      server.resume()
      // On the connection on which they were asked for: they are handed out by then.
      await until(answers, 'an answer')
      if (asks) await store.receive.take({ gateway: 'x' })
      if (asks) await store.topics.read('elsewhere', [{ ...wait, group: 'x' }])
      await until(() => woken.size === 2, 'the signals')
      assert.deepEqual([(await other.receive.take({}))?.message.text, await read(other)], ['a', 'b'])
    })
})
