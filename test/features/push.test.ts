import assert from 'node:assert/strict'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { CloudEvent, HTTP } from 'cloudevents'
import { Webhook } from 'standardwebhooks'
import { TriviumError } from '../../src/core/errors.ts'
import type { Json } from '../../src/core/json.ts'
import type { Store } from '../../src/core/store.ts'
import { createLongWork } from '../../src/engine/long-work.ts'
import { createReplayEvents } from '../../src/engine/replay-events.ts'
import { createPush } from '../../src/features/push/push.ts'
import { type PushSubscription, pushSchema } from '../../src/features/push/schema.ts'
import { callOf, newMessage } from '../engine/kit.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from '../runtime/support/cleanup.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { openStore, storeKinds } from '../runtime/support/store.ts'

setFlagsFromString('--expose_gc')
const collect: () => void = runInNewContext('gc')

const SECRET = `whsec_${Buffer.from('a secret of 24 bytes and more').toString('base64')}`

type Got = { headers: IncomingHttpHeaders; body: string; id: string; n: unknown }
type Respond = (response: ServerResponse, got: Got, count: number) => void

/** A receiver that keeps what it verified, and answers as it is told. Without `isStrict` signatures may be of any time. */
async function receiver(
  t: TestContext,
  respond: Respond = (response) => response.end('thanks'),
  isStrict = true,
) {
  const got: Got[] = []
  const { url, close } = await serveHttp(async (request, response) => {
    const body = (await request.toArray()).join('')
    const { headers } = request
    if (isStrict) new Webhook(SECRET).verify(body, Object(headers))
    const said = JSON.parse(body)
    const one = { headers, body, id: String(headers['webhook-id']), n: said.data?.n ?? said.n }
    got.push(one)
    respond(response, one, got.length)
  })
  cleanup(t, close)
  return {
    got,
    ns: () => got.map(({ n }) => n),
    url: `${url}/in?key=k`,
    wait: (count: number) => until(() => (got.length >= count ? got : undefined), `${count} pushes`),
  }
}

function subscription(url: string, parts: object = {}): PushSubscription {
  const retry = { attempts: 4, delay: 5, 'max-delay': 10 }
  return pushSchema.parse({
    name: 'crm',
    topic: 'orders',
    secret: SECRET,
    url,
    'allow-private': true,
    retry,
    ...parts,
  })
}

async function pushing(
  t: TestContext,
  store: Store,
  subscriptions: PushSubscription[],
  owner = 'a',
  now = Date.now,
) {
  const outcomes: string[] = []
  const pushed = (_name: string, outcome: string) => outcomes.push(outcome)
  const log = createMemoryLog()
  const work = createLongWork({ store, owner, log, now })
  cleanup(t, () => work.stop())
  const replay = createReplayEvents({ topics: store.topics, work, now: Date.now })
  const push = createPush({
    ...{ store, replay, owner, pushed, log, now },
    known: () => ({ gateway: ['in'], transport: ['webhook'] }),
    hide: () => {},
  })
  await push.use(subscriptions)
  push.start()
  cleanup(t, () => push.stop(0))
  const show = async (name = 'crm') => Object(await push.service.show({ name }))
  const reason = (name?: string) =>
    until(async () => (await show(name)).attempts[0]?.reason, 'a failed attempt')
  return { ...push, outcomes, show, reason }
}

const emit = (store: Store, data: Json, type = 'paid') =>
  store.topics.publish('orders', [{ type, source: 'shop', data }])
const counted = async (store: Store, count: number, from = 1) => {
  for (let n = from; n < from + count; n++) await emit(store, { n, conversation: 'c' })
}

const numbers = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at)

describe('a push subscription', { concurrency: 4 }, () => {
  test('speaks CloudEvents, structured and binary', async (t) => {
    const store = await openStore(t)
    for (const format of ['cloudevents', 'cloudevents-binary']) {
      const { url, wait } = await receiver(t)
      await pushing(t, store, [subscription(url, { name: format, format })])
      await emit(store, { n: 7, conversation: 'Zoë "1"' })
      const [got] = await wait(1)
      assert.ok(got)
      const event = HTTP.toEvent({ headers: got.headers, body: got.body })
      assert.ok(event instanceof CloudEvent && event.validate())
      assert.partialDeepStrictEqual(event.toJSON(), {
        id: got.id,
        type: 'paid',
        source: 'shop',
        topic: 'orders',
        data: { n: 7 },
      })
      const subject = format === 'cloudevents' ? event.subject : decodeURIComponent(String(event.subject))
      assert.equal(subject, 'Zoë "1"')
    }
  })

  test('sends what its match takes, of messages and of other events', async (t) => {
    const store = await openStore(t)
    const messages = await receiver(t)
    const orders = await receiver(t)
    await pushing(t, store, [
      subscription(messages.url, { name: 'm', topic: 'gateway-message', match: { text: 'invoice*' } }),
      subscription(orders.url, { match: { event: 'paid', 'data.n': '2' } }),
    ])
    await store.journal.accept([newMessage({ text: 'hello' }), newMessage({ text: 'Invoice 7' })])
    await counted(store, 3)
    await emit(store, { n: 2 }, 'refused')
    await emit(store, { n: 2 })
    assert.equal(JSON.parse((await messages.wait(1))[0]?.body ?? '').data.body, 'Invoice 7')
    await orders.wait(2)
    assert.deepEqual([messages.got.length, orders.ns()], [1, [2, 2]])
  })

  test('posts signed events with their ids, tries one again in the midst of a conversation, and keeps the order behind it', async (t) => {
    const store = await openStore(t)
    const { got, ns, url, wait } = await receiver(t, (response, { n }, count) =>
      response.writeHead(n === 3 && count < 5 ? 500 : 204).end(),
    )
    await store.topics.subscribe('orders', 'crm', 'now')
    await counted(store, 40)
    const { show } = await pushing(t, store, [subscription(url)])
    await wait(3)
    await counted(store, 10, 41)
    await wait(52)
    assert.deepEqual(ns(), [1, 2, 3, 3, ...numbers(3, 50)])
    assert.equal(new Set(got.slice(2, 5).map(({ id }) => id)).size, 1)
    const event = { id: got[0]?.id, topic: 'orders', type: 'paid', source: 'shop', data: { n: 1 } }
    assert.partialDeepStrictEqual(JSON.parse(got[0]?.body ?? ''), event)
    const shown = await until(async () => {
      const told = await show()
      return told.waiting === 0 && told.attempts[0]?.event === got.at(-1)?.id && told
    }, 'the attempts')
    assert.partialDeepStrictEqual(shown, { ok: true, state: 'active', dead: 0 })
    const failed = shown.attempts.filter(({ status }: { status: number }) => status === 500)
    assert.partialDeepStrictEqual(failed, [{ attempt: 2 }, { attempt: 1, reason: 'it answered 500' }])
  })

  test('posts a long backlog once and in order, though one of its conversations fails on the way', async (t) => {
    const store = await openStore(t)
    const total = 1_300
    const hook = await receiver(t, (response, { n }, count) => {
      response.writeHead(n === 3 && count < 600 ? 500 : 204).end()
    })
    const retry = { attempts: 200, delay: 5, 'max-delay': 10 }
    const { show } = await pushing(t, store, [subscription(hook.url, { concurrency: 8, retry })])
    const events = Array.from({ length: total }, (_, n) => {
      return { type: 'paid', source: 'shop', data: { n, conversation: String(n % 10) } }
    })
    await store.topics.publish('orders', events)
    await until(async () => hook.got.length >= total && (await show()).waiting === 0, 'an empty group')
    const sent = hook.ns().filter((n, at) => n !== 3 || !hook.ns().includes(3, at + 1))
    assert.equal(sent.length, total)
    for (let lane = 0; lane < 10; lane++) {
      const ns = sent.filter((n) => Number(n) % 10 === lane)
      assert.deepEqual(
        ns,
        [...ns].sort((a, b) => Number(a) - Number(b)),
      )
    }
  })

  test('goes on behind events that are so large that a read brings few', async (t) => {
    const store = await openStore(t)
    const hook = await receiver(t)
    await store.topics.subscribe('orders', 'crm', 'now')
    for (const n of numbers(1, 12)) await emit(store, { n, text: 'x'.repeat(1_000_000) })
    await pushing(t, store, [subscription(hook.url)])
    await hook.wait(12)
    assert.deepEqual(hook.ns(), numbers(1, 12))
  })

  test('keeps the order behind what another daemon has left to be tried again', async (t) => {
    const store = await openStore(t)
    const other = Promise.withResolvers<void>()
    const { ns, url, wait } = await receiver(t, (response, { n }, count) => {
      if (n === 9) other.resolve()
      response.statusCode = count === 1 ? 500 : 200
      // What another conversation says does not wait for the end of this attempt.
      if (n === 1 && count > 1) void other.promise.then(() => response.end())
      else response.end()
    })
    const served = [subscription(url, { retry: { attempts: 4, delay: 500, 'max-delay': 500 } })]
    const first = await pushing(t, store, served)
    await counted(store, 1)
    await until(() => first.outcomes.includes('retry'), 'a failure')
    await first.stop(1000)
    await pushing(t, store, served, 'b')
    await counted(store, 2, 2)
    await emit(store, { n: 9, conversation: 'other' })
    await wait(5)
    assert.deepEqual(
      ns().filter((n) => n !== 9),
      [1, 1, 2, 3],
    )
    assert.ok(ns().indexOf(9) < ns().indexOf(2), 'the other conversation first')
  })

  test('buries an event whose attempts are used up, goes on, and sends it when it is taken up again', async (t) => {
    const store = await openStore(t)
    let broken = true
    const { ns, url, wait } = await receiver(t, (response, { n }) =>
      response.writeHead(broken && n === 1 ? 422 : 200).end('no such order'),
    )
    await pushing(t, store, [subscription(url)])
    await counted(store, 2)
    await wait(5)
    assert.deepEqual(ns(), [1, 1, 1, 1, 2])
    const {
      items: [letter],
    } = await store.jobs.deadLetters.list({ queue: 'push/crm', limit: 5 })
    assert.ok(letter)
    assert.deepEqual(
      [letter.group, letter.reason, letter.errors.at(-1)?.code],
      ['crm', 'attempts', 'push_failed'],
    )
    broken = false
    await store.jobs.deadLetters.retry(letter.id)
    await wait(6)
    assert.equal(ns()[5], 1)
  })

  test('heeds Retry-After, in seconds and as a date', async (t) => {
    for (const after of [() => '1', () => new Date(Date.now() + 2_000).toUTCString()]) {
      const store = await openStore(t)
      const at: number[] = []
      const { url, wait } = await receiver(t, (response, _, count) => {
        at.push(Date.now())
        if (count === 1) response.setHeader('retry-after', after())
        response.writeHead(count === 1 ? 429 : 200).end()
      })
      await pushing(t, store, [subscription(url)])
      await emit(store, { n: 1 })
      await wait(1)
      await emit(store, { n: 2, conversation: 'other' })
      await wait(3)
      assert.ok((at[1] ?? 0) - (at[0] ?? 0) >= 900, 'the other conversation waits too')
    }
  })

  test('heeds Retry-After also where an event that was under way is taken after it', async (t) => {
    const store = await openStore(t)
    let late: ServerResponse | undefined
    const { ns, url, wait } = await receiver(t, (response, { n }) => {
      if (n === 1) late = response
      else if (n === 2) response.writeHead(429, { 'retry-after': '3600' }).end()
      else response.end()
    })
    const other = await receiver(t)
    const { outcomes, reason } = await pushing(t, store, [
      subscription(url),
      subscription(other.url, { name: 'other' }),
    ])
    await emit(store, { n: 1, conversation: 'a' })
    await wait(1)
    await emit(store, { n: 2, conversation: 'b' })
    await reason()
    late?.end()
    await until(() => outcomes.includes('sent'), 'the other event')
    for (const n of [3, 4]) {
      await emit(store, { n, conversation: `${n}` })
      await other.wait(n)
    }
    assert.deepEqual(ns(), [1, 2])
  })

  test('goes on where the rest it was asked for ends in the midst of a step', async (t) => {
    const store = await openStore(t)
    const clock = { ahead: 0 }
    const topics: Store['topics'] = {
      ...store.topics,
      async ack(topic, group, ids) {
        const count = await store.topics.ack(topic, group, ids)
        clock.ahead = 60_000
        return count
      },
    }
    const { ns, url, wait } = await receiver(t, (response, _, count) => {
      if (count === 1) response.setHeader('retry-after', '60')
      response.writeHead(count === 1 ? 429 : 200).end()
    })
    await pushing(t, { ...store, topics }, [subscription(url)], 'a', () => Date.now() + clock.ahead)
    await emit(store, { n: 1 })
    await wait(2)
    assert.deepEqual(ns(), [1, 1])
  })

  test('goes on wherever in a step the rest ends that it was asked for', async (t) => {
    for (let jump = 1; jump <= 20; jump++) {
      const store = await openStore(t)
      let left = Number.POSITIVE_INFINITY
      const now = () => Date.now() + (left-- > 0 ? 0 : 1_000)
      const { ns, url } = await receiver(t, (response, _, count) => {
        if (count === 1) left = jump
        response.writeHead(count === 1 ? 429 : 200, { 'retry-after': '1' }).end()
      })
      await pushing(t, store, [subscription(url)], 'a', now)
      await emit(store, { n: 1 })
      await until(() => ns().length === 2, `another attempt, after ${jump} looks at the clock`)
    }
  })

  test('begins no step while a read of the last one is under way, whose acknowledgement failed', async (t) => {
    const store = await openStore(t)
    const hook = await receiver(t)
    let failures = 0
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const topics: Store['topics'] = {
      ...store.topics,
      async ack(topic, group, ids) {
        if (++failures > 2) return store.topics.ack(topic, group, ids)
        if (failures === 1) await emit(store, { n: 2 })
        throw new TriviumError('store_unavailable', { store: 's', reason: 'it takes no writes' })
      },
      async read(topic, requests) {
        const batches = await store.topics.read(topic, requests)
        if (failures !== 2) return batches
        // A slow one: longer than a loop pauses after a failure.
        await setTimeout(1_300)
        resolve()
        return batches
      },
    }
    const { show } = await pushing(t, { ...store, topics }, [subscription(hook.url)])
    await emit(store, { n: 1 })
    await until(async () => hook.got.length >= 2 && (await show()).waiting === 0, 'both')
    await late
    await emit(store, { n: 3 })
    await until(() => hook.ns().includes(3), 'another')
    assert.deepEqual(hook.ns(), [1, 2, 3])
  })

  test('is disabled by 410 and loses nothing, until somebody resumes it', async (t) => {
    const store = await openStore(t)
    let gone = true
    const { ns, url, wait } = await receiver(t, (response) => response.writeHead(gone ? 410 : 200).end())
    const { service, show } = await pushing(t, store, [subscription(url)])
    await counted(store, 1)
    await wait(1)
    await until(async () => (await show()).state === 'disabled', 'a disabled subscription')
    await counted(store, 2, 2)
    assert.partialDeepStrictEqual(await show(), { ok: false, waiting: 3, dead: 0 })
    gone = false
    await service.resume({ name: 'crm' })
    await wait(4)
    assert.deepEqual(ns(), [1, 1, 2, 3])
  })

  test('leaves a receiver alone that keeps failing: one event is tried, the others wait in the group', async (t) => {
    const store = await openStore(t)
    let isWell = false
    let held: ServerResponse | undefined
    const { got, url } = await receiver(t, (response, _, count) => {
      if (isWell) response.end()
      else if (count <= tried) response.writeHead(503).end()
      else held = response
    })
    let tried = Number.POSITIVE_INFINITY
    const retry = { attempts: 99, delay: 5, 'max-delay': 5 }
    const { show } = await pushing(t, store, [subscription(url, { concurrency: 4, retry })])
    const emitOne = (n: number) => emit(store, { n, conversation: `c${n}` })
    for (let n = 0; n < 6; n++) await emitOne(n)
    await until(async () => (await show()).state === 'failing', 'an open circuit')
    tried = got.length
    // Four failures, four that were being sent, and four that were about to be.
    assert.ok(tried <= 12, `${tried} attempts`)
    await until(() => held, 'the one that is tried')
    for (let n = 6; n < 30; n++) await emitOne(n)
    await until(async () => (await show()).waiting === 30, 'all of them waiting')
    assert.equal(got.length, tried + 1)
    const [jobs] = (await store.stats()).jobs
    assert.ok(jobs && jobs.waiting + jobs.running <= 5, 'only what opened the circuit left the group')
    const { queued, unread } = await show()
    assert.deepEqual([queued, unread], [jobs.waiting + jobs.running, 30 - queued])
    isWell = true
    held?.end()
    await until(() => new Set(got.slice(tried).map(({ n }) => n)).size === 30, 'all events')
  })

  test('an event that became a job is no longer unread, also before it is acknowledged', async (t) => {
    const store = await openStore(t)
    const acknowledging = Promise.withResolvers<void>()
    t.after(() => acknowledging.resolve())
    const ack: typeof store.topics.ack = async (...args) => {
      await acknowledging.promise
      return store.topics.ack(...args)
    }
    const { url } = await receiver(t, (response) => response.writeHead(503).end())
    const retry = { attempts: 9, delay: 60_000, 'max-delay': 60_000 }
    const slow = { ...store, topics: { ...store.topics, ack } }
    const { show } = await pushing(t, slow, [subscription(url, { retry })])
    await emit(store, { n: 1 })
    await until(async () => {
      const { queued, unread } = await show()
      return queued === 1 && unread === 0
    }, 'a job')
    const [group] = await store.topics.groups('orders')
    assert.equal(group?.lag, 1, 'the group itself does not know it yet')
    acknowledging.resolve()
    await until(async () => (await store.topics.groups('orders'))[0]?.lag === 0, 'the acknowledgement')
    assert.equal((await show()).waiting, 1)
  })

  test('tries others where all that was left to be tried again is what the receiver refuses', async (t) => {
    const store = await openStore(t)
    const clock = { ahead: 0 }
    const refusing: Respond = (response, { n }) => response.writeHead(Number(n) < 3 ? 422 : 200).end()
    const { ns, url } = await receiver(t, refusing, false)
    const served = [subscription(url, { retry: { attempts: 99, delay: 300, 'max-delay': 300 } })]
    const first = await pushing(t, store, served)
    await emit(store, { n: 1, conversation: 'c1' })
    await until(() => first.outcomes.includes('retry'), 'a failure')
    await first.stop(1000)
    const { outcomes, show } = await pushing(t, store, served, 'b', () => Date.now() + clock.ahead)
    await until(async () => (await show()).state === 'failing', 'an open circuit')
    // After each rest one more event joins those that are tried in turn: the third is the last of three, and may come a rest late.
    for (let n = 2; n < 12 && !ns().includes(3); n++) {
      const before = outcomes.length
      // Longer than any rest.
      clock.ahead += 400_000
      await emit(store, { n: Math.min(n, 3), conversation: `c${n}` })
      await until(() => outcomes.length > before, 'an attempt that is answered')
    }
    assert.ok(ns().includes(3), 'an event that is taken')
  })

  test('tries at once where a subscription was changed that was left alone', async (t) => {
    const store = await openStore(t)
    const away = await receiver(t, (response) => response.writeHead(503, { 'retry-after': '3600' }).end())
    const mended = await receiver(t)
    const { use, show } = await pushing(t, store, [subscription(away.url)])
    await emit(store, { n: 1 })
    await until(async () => (await show()).attempts[0], 'a failed attempt')
    await use([subscription(mended.url)])
    await mended.wait(1)
  })

  for (const { kind, place, open } of storeKinds()) {
    test(`is tried at once when resumed, and fails until an attempt succeeds (${kind})`, async (t) => {
      const store = await open(t, await place(t))
      let isWell = false
      const hook = await receiver(t, (response) => response.writeHead(isWell ? 200 : 503).end())
      const retry = { attempts: 99, delay: 3_600_000, 'max-delay': 3_600_000 }
      const { service, show } = await pushing(t, store, [subscription(hook.url, { retry })])
      for (let n = 1; n <= 5; n++) await emit(store, { n, conversation: `c${n}` })
      await until(async () => (await show()).state === 'failing', 'an open circuit')
      const { nextAt, attempts } = await show()
      assert.ok(nextAt > attempts[0].at, `the next attempt at ${nextAt}`)
      await service.resume({ name: 'crm' })
      await until(async () => (await show()).attempts.length > attempts.length, 'the report')
      assert.partialDeepStrictEqual(await show(), { ok: false, state: 'failing', waiting: 5 })
      assert.equal(hook.got.length, 6, 'a single event is tried')
      isWell = true
      await service.resume({ name: 'crm' })
      await until(async () => (await show()).state === 'active' && (await show()).waiting === 0, 'all events')
      assert.equal((await show()).nextAt, undefined)
      assert.equal(hook.got.length, 11)
    })
  }

  test('waits no longer than its timeout, and tells of a host that is not there', async (t) => {
    const store = await openStore(t)
    const deaf = await receiver(t, () => {})
    const { reason } = await pushing(t, store, [
      subscription(deaf.url, { timeout: 20 }),
      subscription('http://nobody.invalid/', { name: 'nobody' }),
    ])
    await emit(store, { n: 1 })
    assert.equal(await reason(), 'no answer within 20 ms')
    assert.match(await reason('nobody'), /nobody\.invalid/)
  })

  test('pauses, resumes, and replays from a time with the old ids', async (t) => {
    const store = await openStore(t)
    const { got, ns, url, wait } = await receiver(t)
    const { service, show } = await pushing(t, store, [subscription(url)])
    await counted(store, 2)
    await wait(2)
    const {
      items: [, second],
    } = await store.topics.tail('orders', 0, 9)
    await service.pause({ name: 'crm' }, callOf({ caller: { kind: 'cli' } }))
    await counted(store, 1, 3)
    assert.partialDeepStrictEqual(await show(), { ok: true, state: 'paused', detail: 'by cli', waiting: 1 })
    await service.resume({ name: 'crm' })
    await wait(3)
    const since = second?.event.timestamp ?? 0
    await service.replay({ name: 'crm', since, dryRun: false }, callOf({ caller: { kind: 'cli' } }))
    await until(() => ns().at(-1) === 3 && got.length >= 5, 'the replay')
    assert.deepEqual(ns().slice(-2), [2, 3])
    assert.equal(got.at(-1)?.id, got[2]?.id)
    await assert.rejects(show('cmr'), /no push subscription cmr. There are: crm/)
  })

  test('sends to no private address, and follows no redirect', async (t) => {
    const store = await openStore(t)
    const inside = await receiver(t)
    const { port } = new URL(inside.url)
    const hosts = [
      `localhost:${port}`,
      `127.0.0.1:${port}`,
      `[::ffff:127.0.0.1]:${port}`,
      `[::127.0.0.1]:${port}`,
      `0x7f000001:${port}`,
    ]
    for (const [at, host] of hosts.entries()) {
      const closed = { ...subscription(`http://${host}/`, { name: `s${at}` }), allowPrivate: false }
      const { reason } = await pushing(t, store, [closed])
      await emit(store, { n: at })
      assert.match(await reason(closed.name), /is a private address; set `allow-private/, host)
    }
    assert.deepEqual(inside.got, [])
    const moved = await receiver(t, (response) => response.writeHead(302, { location: inside.url }).end())
    const { reason } = await pushing(t, store, [subscription(moved.url)])
    await emit(store, { n: 1 })
    assert.match(await reason(), /302 to http.*not followed/)
    assert.deepEqual(inside.got, [])
  })
})

/** By itself, as it measures the heap. */
describe('a push subscription with many conversations', () => {
  test('remembers no conversation for ever, though one event waits to be tried again all the time', async (t) => {
    const size = 20_000
    const store = await openStore(t)
    const { got, url } = await receiver(t, (response, { n }) => response.writeHead(n === 0 ? 422 : 200).end())
    const served = [subscription(url, { retry: { attempts: 99, delay: 60_000, 'max-delay': 60_000 } })]
    const first = await pushing(t, store, served)
    await emit(store, { n: 0 })
    await until(() => first.outcomes.includes('retry'), 'a failure')
    await first.stop(1000)
    const { show } = await pushing(t, store, served, 'b')
    const heapAfter = async (count: number) => {
      for (let n = 0; n < count; n++) {
        await emit(store, { n: 1, conversation: `${got.length} ${n} `.padEnd(size, '-') })
      }
      await until(async () => (await show()).waiting === 1, 'an empty group')
      got.length = 1
      collect()
      return process.memoryUsage().heapUsed
    }
    const before = await heapAfter(100)
    const grown = (await heapAfter(2_000)) - before
    assert.ok(grown < 1_300 * size, `${grown} bytes`)
  })
})

for (const { kind, place, open } of storeKinds().filter((each) => each.kind === 'redis')) {
  describe(`push subscriptions of two daemons on ${kind}`, () => {
    test('are taken over from a daemon that died', async (t) => {
      const store = await open(t, await place(t))
      const began = Date.now()
      await store.leases.acquire('push/crm', 'the dead one', 300)
      const { ns, url, wait } = await receiver(t)
      await pushing(t, store, [subscription(url)], 'b')
      await counted(store, 2)
      await wait(2)
      assert.deepEqual(ns(), [1, 2])
      assert.ok(Date.now() - began >= 300, 'not before its lease has run out')
    })

    test('post each event once, and one takes over from the other', async (t) => {
      const at = await place(t)
      const [first, second] = [await open(t, at), await open(t, at)]
      const { got, ns, url, wait } = await receiver(t)
      const a = await pushing(t, first, [subscription(url)], 'a')
      await pushing(t, second, [subscription(url)], 'b')
      await counted(first, 50)
      await wait(50)
      await a.stop(1000)
      await counted(second, 50, 51)
      await wait(100)
      assert.deepEqual(ns(), numbers(1, 100))
      assert.equal(new Set(got.map(({ id }) => id)).size, 100)
    })
  })
}
