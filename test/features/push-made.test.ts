import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Caller } from '../../src/core/call.ts'
import type { Store } from '../../src/core/store.ts'
import { type PushSubscription, pushSchema } from '../../src/features/push/schema.ts'
import { callOf } from '../engine/kit.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from '../runtime/support/cleanup.ts'
import { openStore, storeKinds } from '../runtime/support/store.ts'
import { emit, SECRET, startPush } from './push-kit.ts'

const OPERATOR: Caller = { kind: 'http', id: 'ada' }

/** A receiver that answers with `status`, and keeps the data of the events that it got. */
async function startReceiver(t: TestContext, status = 200) {
  const got: unknown[] = []
  const { url, close } = await serveHttp(async (request, response) => {
    got.push(JSON.parse((await request.toArray()).join('')).data)
    response.writeHead(status).end()
  })
  cleanup(t, close)
  return { got, url }
}

/**
 * A daemon with these subscriptions in its file. `call` calls `subscription-create` and the like.
 */
async function startDaemon(t: TestContext, store: Store, owner = 'a', ofFile: PushSubscription[] = []) {
  const push = await startPush(t, store, ofFile, { owner })
  const { service } = push
  type Verb = 'create' | 'update' | 'delete'
  const call = (verb: Verb, given: { name: string; [key: string]: unknown }, caller = OPERATOR) => {
    const about = callOf({ caller, given, skill: `subscription-${verb}` })
    if (verb === 'create') return service.create({ url: '', paused: false, ...given }, about)
    if (verb === 'update') return service.update({ rotateSecret: false, ...given }, about)
    return service.delete({ force: false, dryRun: false, ...given }, about)
  }
  const names = async () => (await service.list()).map(({ name }) => name)
  return { ...push, call, names }
}

/** The arguments for a subscription of the topic `orders`. */
const orders = (url: string) => ({ name: 'crm', url, topic: 'orders', allowPrivate: true })

for (const { kind, place, open } of storeKinds()) {
  describe(`a push subscription made by a call, on ${kind}`, { concurrency: 3 }, () => {
    test('loses with its deletion only events that its filter wants', async (t) => {
      const store = await open(t, await place(t))
      const { call } = await startDaemon(t, store)
      const match = { 'data.wanted': true }
      const made = { ...orders('http://127.0.0.1:9/crm'), match, paused: true }
      await call('create', made)
      const lost = () => call('delete', { name: 'crm', dryRun: true }).then(Object)
      for (const wanted of [false, true, false]) await emit(store, { wanted })
      assert.partialDeepStrictEqual(await lost(), { waiting: 1, dead: 0 })
    })

    test('is served immediately, and by another daemon, which can change and delete it', async (t) => {
      const data = await place(t)
      const store = await open(t, data)
      const one = await startDaemon(t, store)
      const two = kind === 'redis' ? await startDaemon(t, await open(t, data), 'b') : undefined
      const { got, url } = await startReceiver(t)
      const made = Object(await one.call('create', orders(url)))
      assert.match(made.secret, /^whsec_[\w+/]{43}=$/)
      assert.equal(made.created, true)
      await emit(store, { n: 1 })
      await until(() => got.length === 1, 'the event')
      if (two) await until(async () => (await two.names()).includes('crm'), 'the other daemon')
      await one.stop(0)
      const next = two ?? (await startDaemon(t, store, 'c'))
      await emit(store, { n: 2 })
      await until(() => got.length === 2, 'the event of the next daemon')

      const elsewhere = await startReceiver(t)
      await next.call('update', { name: 'crm', url: elsewhere.url, headers: { 'x-env': 'test' } })
      await emit(store, { n: 3 })
      await until(() => elsewhere.got.length === 1, 'the event at the new address')
      const shown = await next.show('crm')
      assert.partialDeepStrictEqual(shown, { source: 'api', createdBy: 'ada' })
      assert.ok(!JSON.stringify(shown).includes(made.secret))
      assert.deepEqual(shown.settings.headers, { 'x-env': '[secret]' })
      assert.ok(next.hidden.includes(made.secret))

      await until(async () => (await next.show('crm')).waiting === 0, 'an empty group')
      assert.deepEqual(await next.call('delete', { name: 'crm' }), {
        name: 'crm',
        deleted: true,
        waiting: 0,
        dead: 0,
      })
      assert.deepEqual(await next.names(), [])
      assert.deepEqual(await store.topics.groups('orders'), [])
      await assert.rejects(() => next.call('update', { name: 'crm' }), { code: 'subscription_not_found' })
    })

    test('that is created paused sends nothing until it is resumed', async (t) => {
      const store = await open(t, await place(t))
      const daemon = await startDaemon(t, store)
      const { got, url } = await startReceiver(t)
      await daemon.call('create', { ...orders(url), paused: true })
      await emit(store, { n: 1 })
      assert.partialDeepStrictEqual(await daemon.show('crm'), { state: 'paused', waiting: 1 })
      const repeated = Object(await daemon.call('create', orders(url)))
      assert.equal(repeated.created, false)
      assert.equal((await daemon.show('crm')).state, 'paused', 'the repetition does not resume it')
      const other = { ...orders(`${url}/other`), paused: true }
      await assert.rejects(() => daemon.call('create', other), { code: 'subscription_exists' })
      await daemon.service.resume({ name: 'crm' })
      await until(() => got.length === 1, 'the event')
    })

    test('is deleted with waiting and dead events only by force', async (t) => {
      const store = await open(t, await place(t))
      const daemon = await startDaemon(t, store)
      const { url } = await startReceiver(t, 500)
      const retry = { attempts: 1, delay: 5, maxDelay: 5 }
      await daemon.call('create', { ...orders(url), retry })
      await emit(store, { n: 1 })
      await until(async () => (await daemon.show('crm')).dead === 1, 'a dead letter')
      await daemon.call('update', { name: 'crm', retry: { attempts: 9, delay: 60_000, maxDelay: 60_000 } })
      await emit(store, { n: 2 })
      // Between its first attempt and its acknowledgement, the event counts in both.
      await until(async () => {
        const { queued, unread } = await daemon.show('crm')
        return queued === 1 && unread === 0
      }, 'a job')
      await assert.rejects(() => daemon.call('delete', { name: 'crm' }), {
        code: 'subscription_not_empty',
        message: /1 waiting and 1 dead events/,
      })
      assert.deepEqual(await daemon.call('delete', { name: 'crm', dryRun: true }), {
        name: 'crm',
        deleted: false,
        waiting: 1,
        dead: 1,
      })
      assert.deepEqual(await daemon.names(), ['crm'])
      await daemon.call('delete', { name: 'crm', force: true })
      const jobs = (await store.stats()).jobs.filter(({ queue }) => queue === 'push/crm')
      assert.ok(jobs.every(({ waiting, running, dead }) => waiting + running + dead === 0))
      assert.deepEqual(await store.topics.groups('orders'), [])
      assert.deepEqual((await store.kv.list('trivium:push:crm', 9)).items, [])
    })

    for (const [verb, given] of [
      ['create', { name: 'crm' }],
      ['update', { name: 'crm', rate: '9/s' }],
      ['delete', { name: 'crm', force: true }],
    ] as const) {
      test(`is complete if its ${verb} is repeated after a crash at any of its writes`, async (t) => {
        const { url } = await startReceiver(t, 500)
        const created = { ...orders(url), secret: SECRET }
        const args = verb === 'create' ? created : given
        let isDone = false
        for (let writes = 0; !isDone; writes++) {
          assert.ok(writes < 40, 'the call makes fewer than 40 writes')
          const store = await open(t, await place(t))
          if (verb !== 'create') await createWithEvent(t, store, created)
          const dying = dyingAfter(store, writes)
          const victim = await startDaemon(t, dying.store, 'victim')
          dying.begin()
          isDone = await victim.call(verb, args).then(
            () => true,
            () => false,
          )
          dying.end()
          const next = await startDaemon(t, store, 'next')
          if (verb === 'delete') {
            // Without any write, nothing has happened. After the first, the next daemon completes
            // the rest.
            if ((await next.names()).includes('crm')) await next.call(verb, args)
            await untilDeleted(store, `after ${writes} writes`)
          } else {
            await next.call(verb, args)
            assert.deepEqual(await next.names(), ['crm'])
            const { settings } = await next.show('crm')
            assert.equal(settings.rate, verb === 'update' ? '9/s' : undefined)
            assert.equal((await store.topics.groups('orders')).length, 1)
          }
          await next.stop(0)
        }
      })
    }
  })
}

/** A daemon that creates a subscription, leaves an event waiting, and stops. */
async function createWithEvent(t: TestContext, store: Store, args: { name: string }): Promise<void> {
  const daemon = await startDaemon(t, store, 'creator')
  await daemon.call('create', args)
  await emit(store, { n: 1 })
  await until(async () => (await daemon.show('crm')).waiting === 1, 'a waiting event')
  await daemon.stop(0)
}

/** Waits until nothing of the subscription is left. */
async function untilDeleted(store: Store, when: string): Promise<void> {
  await until(async () => (await store.topics.groups('orders')).length === 0, `no group ${when}`)
  await until(async () => (await store.kv.list('trivium:push:', 9)).items.length === 0, `no records ${when}`)
  const names = async () => Object.keys(Object((await store.kv.get('trivium:push-made'))?.value))
  await until(async () => (await names()).length === 0, `no settings ${when}`)
  assert.ok((await store.stats()).jobs.every(({ waiting, running }) => waiting + running === 0))
}

/**
 * A store whose process dies after `writes` writes. Those of leases do not count: they only cost
 * time.
 */
function dyingAfter(real: Store, writes: number) {
  let isDying = false
  let writesLeft = writes
  const WRITES = /^(set|delete|subscribe|unsubscribe|dropJobs|drop)$/
  const wrap = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key)
        if (typeof value === 'object' && value !== null) return wrap(value)
        if (typeof value !== 'function') return value
        if (!WRITES.test(String(key))) return value.bind(target)
        return (...args: unknown[]) => {
          if (isDying && writesLeft-- <= 0) return Promise.reject(new Error('it died'))
          return Reflect.apply(value, target, args)
        }
      },
    })
  return {
    store: wrap(real),
    /** Starts to count writes. */
    begin: () => {
      isDying = true
    },
    /** Makes further writes fail, even if the call has made fewer than `writes`. */
    end: () => {
      writesLeft = 0
    },
  }
}

describe('a call that makes a push subscription', () => {
  test('can be repeated, and refuses other settings for an existing name', async (t) => {
    const daemon = await startDaemon(t, await openStore(t))
    const given = { name: 'crm', url: 'https://example.com/hook?key=k1' }
    await daemon.call('create', given)
    assert.deepEqual(await daemon.call('create', given), { name: 'crm', created: false })
    await assert.rejects(() => daemon.call('create', { ...given, rate: '1/s' }), {
      code: 'subscription_exists',
      message: /in the store.*subscription-update/,
    })
    assert.ok(!JSON.stringify(await daemon.show('crm')).includes('k1'))
  })

  test('does not show the query of a URL, which may contain a key', async (t) => {
    const daemon = await startDaemon(t, await openStore(t))
    const oauth = { tokenUrl: 'http://127.0.0.1:9/t?key=k-token', clientId: 'me', clientSecret: 'k-client' }
    await daemon.call('create', { ...orders('http://127.0.0.1:9/hook?key=k-hook'), oauth })
    const { settings } = await daemon.show('crm')
    assert.equal(settings.oauth.tokenUrl, 'http://127.0.0.1:9/t')
    assert.doesNotMatch(JSON.stringify(settings), /k-(token|hook|client)/)
  })

  test('accepts a name that JavaScript objects have as a property', async (t) => {
    const { call, names } = await startDaemon(t, await openStore(t))
    const { url } = await startReceiver(t)
    const name = 'constructor'
    await assert.rejects(call('delete', { name }), { code: 'subscription_not_found' })
    await call('create', { ...orders(url), name })
    assert.deepEqual(await names(), [name])
    assert.partialDeepStrictEqual(await call('delete', { name }), { deleted: true })
    assert.deepEqual(await names(), [])
  })

  test('is refused while a subscription of the same name is being deleted', async (t) => {
    const store = await openStore(t)
    // A daemon that hangs still holds the subscription, so that its deletion cannot end.
    assert.ok(await store.leases.acquire('push/crm', 'hung', 120_000))
    const given = { url: 'https://example.com', topic: 'orders', secret: SECRET }
    await store.kv.set('trivium:push-made', { crm: { given, by: 'op', at: 1, isEnding: true } })
    const { call } = await startDaemon(t, store)
    await assert.rejects(call('create', { name: 'crm', ...given }), { code: 'subscription_exists' })
  })

  test('refuses invalid, private and reserved targets, and settings that only a file may have', async (t) => {
    const daemon = await startDaemon(t, await openStore(t))
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
      [{ topic: 'trivium/late-answers' }, 'topic_reserved', /late-answers/],
      [{ topic: 'replies/support/1' }, 'topic_reserved', /replies/],
      [{ headers: { 'x-long': 'x'.repeat(40_000) } }, 'skill_args_invalid', /at most 32768/],
      [{ headers: { 'x-note': 'a\nb: c' } }, 'skill_args_invalid', /headers\.x-note: expected a single line/],
      [{ headers: { 'x-note': '5 €' } }, 'skill_args_invalid', /headers\.x-note: expected .* Latin-1/],
      [
        { headers: { 'Content-Length': '2' } },
        'skill_args_invalid',
        /headers\.Content-Length: .*cannot be set/,
      ],
      [{ headers: { 'transfer-encoding': 'chunked' } }, 'skill_args_invalid', /cannot be set/],
    ] as const)
      await assert.rejects(() => daemon.call('create', { ...given, ...wrong }), { code, message })
    assert.deepEqual(await daemon.names(), [])
  })

  test('rotates the secret and keeps the old one beside the new one; null removes a setting', async (t) => {
    const daemon = await startDaemon(t, await openStore(t))
    await daemon.call('create', { name: 'crm', url: 'https://example.com', secret: SECRET })
    const rotated = Object(await daemon.call('update', { name: 'crm', rotateSecret: true }))
    const { secret } = rotated
    assert.deepEqual(rotated.changes, { secret: { before: '[secret]', after: ['[secret]', '[secret]'] } })
    const again = Object(await daemon.call('update', { name: 'crm', rotateSecret: true }))
    assert.deepEqual(Object.keys(again.changes), ['secret'], 'a change that looks the same when masked')
    assert.match(secret, /^whsec_/)
    assert.ok([SECRET, secret].every((each) => daemon.hidden.includes(each)))
    assert.deepEqual((await daemon.show('crm')).settings.secret, ['[secret]', '[secret]'])
    await daemon.call('update', { name: 'crm', match: { gateway: 'support' } })
    await daemon.call('update', { name: 'crm', match: null })
    assert.equal((await daemon.show('crm')).settings.match, undefined)
  })

  test('changes no subscription of the file; the file wins over an earlier call', async (t) => {
    const ofFile = (url: string) => pushSchema.parse({ name: 'crm', url, secret: SECRET })
    const daemon = await startDaemon(t, await openStore(t), 'a', [ofFile('https://file.example.com')])
    const given = { name: 'crm', url: 'https://api.example.com' }
    await assert.rejects(() => daemon.call('create', given), { message: /in routes.yaml.*change it there/ })
    await assert.rejects(() => daemon.call('update', given), { code: 'subscription_in_file' })
    await assert.rejects(() => daemon.call('delete', given), { code: 'subscription_in_file' })
    await daemon.use([])
    await daemon.call('create', given)
    assert.deepEqual(daemon.warnings(), [])
    await daemon.use([ofFile('https://file.example.com')])
    assert.partialDeepStrictEqual(await daemon.show('crm'), {
      url: 'https://file.example.com',
      source: 'routes.yaml',
    })
    assert.match(daemon.warnings().join(), /push subscription crm is in routes.yaml and was also created/)
    await assert.rejects(() => daemon.call('update', given), { code: 'subscription_in_file' })
    await daemon.call('delete', { name: 'crm' })
    assert.deepEqual(daemon.warnings(), [])
    assert.equal((await daemon.show('crm')).url, 'https://file.example.com')
  })

  test('is allowed to operators, and within limits to programs that may use all gateways', async (t) => {
    const daemon = await startDaemon(t, await openStore(t))
    const given = { name: 'crm', url: 'https://example.com' }
    const program: Caller = { kind: 'http', id: 'token:crm', skills: ['subscription-*'] }
    const refused = { code: 'forbidden' }
    await assert.rejects(() => daemon.call('create', given, { kind: 'route', id: 'chat:eve' }), refused)
    await assert.rejects(() => daemon.call('create', given, { ...program, gateways: ['support'] }), refused)
    await assert.rejects(() => daemon.call('create', { ...given, allowPrivate: true }, program), refused)
    await assert.rejects(
      () => daemon.call('create', { ...given, topic: 'trivium-operations' }, program),
      refused,
    )
    await daemon.call('create', given, program)
    await daemon.call('update', { name: 'crm', allowPrivate: true })
    await assert.rejects(
      () => daemon.call('update', { name: 'crm', url: 'http://10.0.0.1' }, program),
      refused,
    )
  })
})
