import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Caller } from '../../src/core/call.ts'
import type { Store } from '../../src/core/store.ts'
import { createLongWork } from '../../src/engine/long-work.ts'
import { createReplayEvents } from '../../src/engine/replay-events.ts'
import { createPush } from '../../src/features/push/push.ts'
import { type PushSubscription, pushSchema } from '../../src/features/push/schema.ts'
import { callOf } from '../engine/kit.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from '../runtime/support/cleanup.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { openStore, storeKinds } from '../runtime/support/store.ts'

const SECRET = `whsec_${Buffer.from('a secret of 24 bytes and more').toString('base64')}`
const OPERATOR: Caller = { kind: 'http', id: 'ada' }

async function receiver(t: TestContext, status = 200) {
  const got: unknown[] = []
  const { url, close } = await serveHttp(async (request, response) => {
    got.push(JSON.parse((await request.toArray()).join('')).data)
    response.writeHead(status).end()
  })
  cleanup(t, close)
  return { got, url }
}

async function pushing(t: TestContext, store: Store, owner = 'a', ofFile: PushSubscription[] = []) {
  const log = createMemoryLog()
  const now = Date.now
  const work = createLongWork({ store, owner, log, now })
  cleanup(t, () => work.stop())
  const replay = createReplayEvents({ topics: store.topics, work, now: Date.now })
  const hidden: string[] = []
  const push = createPush({
    ...{ store, replay, owner, log, now, pushed: () => {} },
    known: () => ({ gateway: ['support'], transport: ['webhook'] }),
    hide: (secrets) => void hidden.push(...secrets),
  })
  await push.use(ofFile)
  push.start()
  cleanup(t, () => push.stop(0))
  type Verb = 'create' | 'update' | 'delete'
  const call = (verb: Verb, given: { name: string; [key: string]: unknown }, caller = OPERATOR) => {
    const about = callOf({ caller, given, skill: `subscription-${verb}` })
    const { service } = push
    if (verb === 'create') return service.create({ url: '', paused: false, ...given }, about)
    if (verb === 'update') return service.update({ rotateSecret: false, ...given }, about)
    return service.delete({ force: false, dryRun: false, ...given }, about)
  }
  const names = async () => (await push.service.list()).map(({ name }) => name)
  const show = async (name: string) => Object(await push.service.show({ name }))
  return { ...push, call, names, show, hidden, log }
}

const emit = (store: Store, data: { n: number }) =>
  store.topics.publish('orders', [{ type: 'paid', source: 'shop', data }])
const orders = (url: string) => ({ name: 'crm', url, topic: 'orders', allowPrivate: true })

for (const { kind, place, open } of storeKinds()) {
  describe(`a push subscription made by a call, on ${kind}`, { concurrency: 3 }, () => {
    test('is served at once, and by another daemon, which sees it changed and deleted', async (t) => {
      const at = await place(t)
      const [store, other] = [await open(t, at), kind === 'redis' ? await open(t, at) : undefined]
      const one = await pushing(t, store)
      const two = other && (await pushing(t, other, 'b'))
      const { got, url } = await receiver(t)
      const made = Object(await one.call('create', orders(url)))
      assert.match(made.secret, /^whsec_[\w+/]{43}=$/)
      assert.equal(made.created, true)
      await emit(store, { n: 1 })
      await until(() => got.length === 1, 'the event')
      if (two) await until(async () => (await two.names()).includes('crm'), 'the other daemon')
      await one.stop(0)
      const next = two ?? (await pushing(t, store, 'c'))
      await emit(store, { n: 2 })
      await until(() => got.length === 2, 'the event of the next daemon')

      const elsewhere = await receiver(t)
      await next.call('update', { name: 'crm', url: elsewhere.url, headers: { 'x-env': 'test' } })
      await emit(store, { n: 3 })
      await until(() => elsewhere.got.length === 1, 'the event at the new address')
      const shown = await next.show('crm')
      assert.partialDeepStrictEqual(shown, { source: 'api', createdBy: 'ada' })
      assert.ok(!JSON.stringify(shown).includes(made.secret))
      assert.deepEqual(shown.settings.headers, { 'x-env': '[secret]' })
      assert.ok(next.hidden.includes(made.secret))

      await until(async () => (await next.show('crm')).waiting === 0, 'nothing that waits')
      assert.deepEqual(await next.call('delete', { name: 'crm' }), {
        ...{ name: 'crm', deleted: true, waiting: 0, dead: 0 },
      })
      assert.deepEqual(await next.names(), [])
      assert.deepEqual(await store.topics.groups('orders'), [])
      await assert.rejects(() => next.call('update', { name: 'crm' }), { code: 'subscription_not_found' })
    })

    test('sends nothing while it is paused from the start, and all of it once it is resumed', async (t) => {
      const store = await open(t, await place(t))
      const one = await pushing(t, store)
      const { got, url } = await receiver(t)
      await one.call('create', { ...orders(url), paused: true })
      await emit(store, { n: 1 })
      assert.partialDeepStrictEqual(await one.show('crm'), { state: 'paused', waiting: 1 })
      // The same again, without pausing, leaves it as it is.
      assert.equal(Object(await one.call('create', orders(url))).created, false)
      assert.equal((await one.show('crm')).state, 'paused')
      await assert.rejects(() => one.call('create', { ...orders(`${url}/other`), paused: true }), {
        code: 'subscription_exists',
      })
      await one.service.resume({ name: 'crm' })
      await until(() => got.length === 1, 'the event')
    })

    test('tells what waits before it is deleted, and takes it along with force', async (t) => {
      const store = await open(t, await place(t))
      const one = await pushing(t, store)
      const { url } = await receiver(t, 500)
      const retry = { attempts: 1, delay: 5, maxDelay: 5 }
      await one.call('create', { ...orders(url), retry })
      await emit(store, { n: 1 })
      await until(async () => (await one.show('crm')).dead === 1, 'a dead letter')
      await one.call('update', { name: 'crm', retry: { attempts: 9, delay: 60_000, maxDelay: 60_000 } })
      await emit(store, { n: 2 })
      // Between its first attempt and its acknowledgement, the event counts in both.
      await until(async () => {
        const { queued, unread } = await one.show('crm')
        return queued === 1 && unread === 0
      }, 'a job')
      await assert.rejects(() => one.call('delete', { name: 'crm' }), {
        code: 'subscription_not_empty',
        message: /1 waiting and 1 dead events/,
      })
      assert.deepEqual(await one.call('delete', { name: 'crm', dryRun: true }), {
        ...{ name: 'crm', deleted: false, waiting: 1, dead: 1 },
      })
      assert.deepEqual(await one.names(), ['crm'])
      await one.call('delete', { name: 'crm', force: true })
      const left = (await store.stats()).jobs.filter(({ queue }) => queue === 'push/crm')
      assert.ok(left.every(({ waiting, running, dead }) => waiting + running + dead === 0))
      assert.deepEqual(await store.topics.groups('orders'), [])
      assert.deepEqual(await store.kv.list('trivium:push:crm', 9), [])
    })

    test('is there or not after a crash at any step, and a repeated call completes it', async (t) => {
      const { url } = await receiver(t, 500)
      const made = { ...orders(url), secret: SECRET }
      for (const [verb, given] of [
        ['create', made],
        ['update', { name: 'crm', rate: '9/s' }],
        ['delete', { name: 'crm', force: true }],
      ] as const) {
        for (let step = 0; ; step++) {
          const store = await open(t, await place(t))
          const calm = await pushing(t, store, 'calm')
          if (verb !== 'create') {
            await calm.call('create', made)
            await emit(store, { n: 1 })
            await until(async () => (await calm.show('crm')).waiting === 1, 'what waits')
          }
          await calm.stop(0)
          const dying = dyingAfter(store, step)
          const victim = await pushing(t, dying.store, 'victim')
          dying.begin()
          const isDone = await victim.call(verb, given).then(
            () => true,
            () => false,
          )
          dying.end()
          const next = await pushing(t, store, 'next')
          if (verb === 'delete') {
            // Before the first write nothing has happened; after it the next daemon completes it.
            if ((await next.names()).includes('crm')) await next.call(verb, given)
            await until(async () => (await store.topics.groups('orders')).length === 0, `no group (${step})`)
            await until(async () => (await store.kv.list('trivium:push:', 9)).length === 0, 'no records')
            await until(
              async () => Object.keys(Object((await store.kv.get('trivium:push-made'))?.value)).length === 0,
              'no entry',
            )
            assert.ok((await store.stats()).jobs.every((queue) => queue.waiting + queue.running === 0))
          } else {
            await next.call(verb, given)
            assert.deepEqual(await next.names(), ['crm'])
            const { settings } = await next.show('crm')
            assert.equal(settings.rate, verb === 'update' ? '9/s' : undefined)
            assert.equal((await store.topics.groups('orders')).length, 1)
          }
          await next.stop(0)
          if (isDone) break
          assert.ok(step < 40, 'a call that ends')
        }
      }
    })
  })
}

/** A store whose process dies in a call: after so many writes nothing is written any more. */
function dyingAfter(real: Store, writes: number) {
  let isDying = false
  let left = writes
  // Leases that the dead leave behind only cost time.
  const WRITES = /^(set|delete|subscribe|unsubscribe|dropJobs|drop)$/
  const wrap = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key)
        if (typeof value === 'object' && value !== null) return wrap(value)
        if (typeof value !== 'function') return value
        if (!WRITES.test(String(key))) return value.bind(target)
        return (...args: unknown[]) => {
          if (isDying && left-- <= 0) return Promise.reject(new Error('it died'))
          return Reflect.apply(value, target, args)
        }
      },
    })
  return {
    store: wrap(real),
    begin: () => {
      isDying = true
    },
    /** From now on it is dead, whatever was left. */
    end: () => {
      left = 0
    },
  }
}

describe('a call that makes a push subscription', () => {
  test('is idempotent, and refuses another one of the name', async (t) => {
    const one = await pushing(t, await openStore(t))
    const given = { name: 'crm', url: 'https://example.com/hook?key=k1' }
    await one.call('create', given)
    assert.deepEqual(await one.call('create', given), { name: 'crm', created: false })
    await assert.rejects(() => one.call('create', { ...given, rate: '1/s' }), {
      code: 'subscription_exists',
      message: /in the store.*subscription-update/,
    })
    assert.ok(!JSON.stringify(await one.show('crm')).includes('k1'))
  })

  test('shows no query of a URL, which may contain a key', async (t) => {
    const one = await pushing(t, await openStore(t))
    const oauth = { tokenUrl: 'http://127.0.0.1:9/t?key=k-token', clientId: 'me', clientSecret: 'k-client' }
    await one.call('create', { ...orders('http://127.0.0.1:9/hook?key=k-hook'), oauth })
    const { settings } = await one.show('crm')
    assert.equal(settings.oauth.tokenUrl, 'http://127.0.0.1:9/t')
    assert.doesNotMatch(JSON.stringify(settings), /k-(token|hook|client)/)
  })

  test('may have any name that the file allows', async (t) => {
    const { call, names } = await pushing(t, await openStore(t))
    const { url } = await receiver(t)
    const name = 'constructor'
    await assert.rejects(call('delete', { name }), { code: 'subscription_not_found' })
    await call('create', { ...orders(url), name })
    assert.deepEqual(await names(), [name])
    assert.partialDeepStrictEqual(await call('delete', { name }), { deleted: true })
    assert.deepEqual(await names(), [])
  })

  test('is not taken for one that is being deleted', async (t) => {
    const store = await openStore(t)
    // A daemon that hangs still holds what it sends.
    assert.ok(await store.leases.acquire('push/crm', 'hung', 120_000))
    const { url } = await receiver(t)
    const given = { url, topic: 'orders', allowPrivate: true, secret: SECRET }
    const value = { crm: { given, by: 'op', at: 1, isEnding: true } }
    await store.kv.set('trivium:push-made', value)
    const { call } = await pushing(t, store)
    await assert.rejects(call('create', { name: 'crm', ...given }), { code: 'subscription_exists' })
  })

  test('refuses what the file refuses, and more', async (t) => {
    const one = await pushing(t, await openStore(t))
    const given = { name: 'crm', url: 'https://example.com/hook' }
    for (const [wrong, code, message] of [
      [{ url: 'http://example.com' }, 'skill_args_invalid', /url: expected https/],
      [{ url: 'https://127.0.0.1/x' }, 'skill_args_invalid', /private address/],
      [{ url: 'https://[::ffff:10.0.0.1]/x' }, 'skill_args_invalid', /private address/],
      [{ url: 'https://ada:pw@example.com' }, 'skill_args_invalid', /remove user and password/],
      [{ url: 'ftp://example.com' }, 'skill_args_invalid', /url/],
      [{ name: '../crm' }, 'skill_args_invalid', /name: expected letters/],
      [{ secret: 'short' }, 'skill_args_invalid', /whsec_/],
      [{ secret: ['[secret]'] }, 'skill_args_invalid', /stands for a secret/],
      [{ rate: 'often' }, 'skill_args_invalid', /rate/],
      [{ timeout: '100d' }, 'skill_args_invalid', /24d/],
      [{ retry: { maxDelay: 'soon' } }, 'skill_args_invalid', /maxDelay/],
      [{ match: { gateway: 'suport' } }, 'skill_args_invalid', /did you mean "support"/],
      [{ tls: { ca: '/etc/passwd' } }, 'skill_args_invalid', /PEM text/],
      [
        { oauth: { tokenUrl: 'http://10.0.0.1', clientId: 'a', clientSecret: 'b' } },
        'skill_args_invalid',
        /tokenUrl/,
      ],
      [{ topic: 'trivium/log' }, 'topic_reserved', /trivium\/log/],
      [{ topic: 'replies/support/1' }, 'topic_reserved', /replies/],
      [{ headers: { 'x-long': 'x'.repeat(40_000) } }, 'skill_args_invalid', /at most 32768/],
    ] as const)
      await assert.rejects(() => one.call('create', { ...given, ...wrong }), { code, message })
    assert.deepEqual(await one.names(), [])
  })

  test('rotates its secret: the old one signs beside the new one', async (t) => {
    const one = await pushing(t, await openStore(t))
    await one.call('create', { name: 'crm', url: 'https://example.com', secret: SECRET })
    const { secret } = Object(await one.call('update', { name: 'crm', rotateSecret: true }))
    assert.match(secret, /^whsec_/)
    assert.ok([SECRET, secret].every((each) => one.hidden.includes(each)))
    assert.deepEqual((await one.show('crm')).settings.secret, ['[secret]', '[secret]'])
    await one.call('update', { name: 'crm', match: { gateway: 'support' } })
    await one.call('update', { name: 'crm', match: null })
    assert.equal((await one.show('crm')).settings.match, undefined)
  })

  test('leaves those of the file to the file, which wins when it comes later', async (t) => {
    const ofFile = (url: string) => pushSchema.parse({ name: 'crm', url, secret: SECRET })
    const one = await pushing(t, await openStore(t), 'a', [ofFile('https://file.example.com')])
    const given = { name: 'crm', url: 'https://api.example.com' }
    await assert.rejects(() => one.call('create', given), { message: /in routes.yaml.*change it there/ })
    await assert.rejects(() => one.call('update', given), { code: 'subscription_in_file' })
    await assert.rejects(() => one.call('delete', given), { code: 'subscription_in_file' })
    await one.use([])
    await one.call('create', given)
    assert.deepEqual(one.warnings(), [])
    await one.use([ofFile('https://file.example.com')])
    assert.partialDeepStrictEqual(await one.show('crm'), {
      ...{ url: 'https://file.example.com', source: 'routes.yaml' },
    })
    assert.match(one.warnings().join(), /push subscription crm is in routes.yaml and was also created/)
    await assert.rejects(() => one.call('update', given), { code: 'subscription_in_file' })
    await one.call('delete', { name: 'crm' })
    assert.deepEqual(one.warnings(), [])
    assert.equal((await one.show('crm')).url, 'https://file.example.com')
  })

  test('needs an operator or a program that may reach all gateways', async (t) => {
    const one = await pushing(t, await openStore(t))
    const given = { name: 'crm', url: 'https://example.com' }
    const program: Caller = { kind: 'http', id: 'token:crm', skills: ['subscription-*'] }
    const refused = { code: 'forbidden' }
    await assert.rejects(() => one.call('create', given, { kind: 'route', id: 'chat:eve' }), refused)
    await assert.rejects(() => one.call('create', given, { ...program, gateways: ['support'] }), refused)
    await assert.rejects(() => one.call('create', { ...given, allowPrivate: true }, program), refused)
    await assert.rejects(
      () => one.call('create', { ...given, topic: 'trivium-operations' }, program),
      refused,
    )
    await one.call('create', given, program)
    await one.call('update', { name: 'crm', allowPrivate: true })
    await assert.rejects(() => one.call('update', { name: 'crm', url: 'http://10.0.0.1' }, program), refused)
  })
})
