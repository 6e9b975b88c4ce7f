import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CloudEvent, HTTP } from 'cloudevents'
import type { Store } from '../../src/core/store.ts'
import { createRecords } from '../../src/features/push/records.ts'
import { callOf, newMessage } from '../engine/kit.ts'
import { until } from '../fixtures/until.ts'
import { openStore, storeKinds } from '../runtime/support/store.ts'
import { emit, startPush, subscription } from './push-kit.ts'
import { startReceiver } from './push-receiver.ts'

/** Publishes events of one conversation, with the numbers from `first` to `last`. */
async function emitNumbers(store: Store, first: number, last: number): Promise<void> {
  for (const n of numbers(first, last)) await emit(store, { n, conversation: 'c' })
}

function numbers(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

describe('a push subscription', { concurrency: 4 }, () => {
  for (const format of ['cloudevents', 'cloudevents-binary']) {
    test(`sends events in the format ${format}, as the SDK of CloudEvents reads it`, async (t) => {
      const store = await openStore(t)
      const { url, wait } = await startReceiver(t)
      await startPush(t, store, [subscription(url, { format })])
      await emit(store, { n: 7, conversation: 'Zoë "1"' })
      const [push] = await wait(1)
      assert.ok(push)
      const event = HTTP.toEvent({ headers: push.headers, body: push.body })
      assert.ok(event instanceof CloudEvent && event.validate())
      assert.partialDeepStrictEqual(event.toJSON(), {
        id: push.id,
        type: 'paid',
        source: 'shop',
        topic: 'orders',
        data: { n: 7 },
      })
      const subject = String(event.subject)
      assert.equal(format === 'cloudevents' ? subject : decodeURIComponent(subject), 'Zoë "1"')
    })
  }

  test('sends only the messages and events that its match selects', async (t) => {
    const store = await openStore(t)
    const messages = await startReceiver(t)
    const orders = await startReceiver(t)
    await startPush(t, store, [
      subscription(messages.url, { name: 'm', topic: 'gateway-message', match: { text: 'invoice*' } }),
      subscription(orders.url, { match: { event: 'paid', 'data.n': '2' } }),
    ])
    await store.journal.accept([newMessage({ text: 'hello' }), newMessage({ text: 'Invoice 7' })])
    await emitNumbers(store, 1, 3)
    await emit(store, { n: 2 }, 'refused')
    await emit(store, { n: 2 })
    assert.equal(JSON.parse((await messages.wait(1))[0]?.body ?? '').data.body, 'Invoice 7')
    await orders.wait(2)
    assert.equal(messages.got.length, 1)
    assert.deepEqual(orders.ns(), [2, 2])
  })

  test('retries a failed event under its id, before later events of its conversation', async (t) => {
    const store = await openStore(t)
    const { got, ns, url, wait } = await startReceiver(t, (response, { n }, count) =>
      response.writeHead(n === 3 && count < 5 ? 500 : 204).end(),
    )
    await store.topics.subscribe('orders', 'crm', 'now')
    await emitNumbers(store, 1, 40)
    const { show } = await startPush(t, store, [subscription(url)])
    await wait(3)
    await emitNumbers(store, 41, 50)
    await wait(52)
    assert.deepEqual(ns(), [1, 2, 3, 3, ...numbers(3, 50)])
    assert.equal(new Set(got.slice(2, 5).map(({ id }) => id)).size, 1)
    const event = { id: got[0]?.id, topic: 'orders', type: 'paid', source: 'shop', data: { n: 1 } }
    assert.partialDeepStrictEqual(JSON.parse(got[0]?.body ?? ''), event)
    const shown = await until(async () => {
      const status = await show()
      return status.waiting === 0 && status.attempts[0]?.event === got.at(-1)?.id && status
    }, 'the attempts')
    assert.partialDeepStrictEqual(shown, { ok: true, state: 'active', dead: 0 })
    const failed = shown.attempts.filter(({ status }: { status: number }) => status === 500)
    assert.partialDeepStrictEqual(failed, [{ attempt: 2 }, { attempt: 1, reason: 'it answered 500' }])
  })

  test('keeps all attempts at a message, also more than a report keeps, by the id of the message', async (t) => {
    const store = await openStore(t)
    const { url, wait } = await startReceiver(t, (response, _push, count) =>
      response.writeHead(count < 4 ? 500 : 204).end(),
    )
    const messages = { topic: 'gateway-message', match: { text: 'first' } }
    const { attemptsOf, use } = await startPush(t, store, [subscription(url, messages)])
    const [accepted] = await store.journal.accept([newMessage({ text: 'first' })])
    const id = accepted?.id ?? ''
    await wait(4)
    await use([subscription(url, { topic: 'gateway-message' })])
    // More than a report keeps.
    const others = Array.from({ length: 210 }, (_, n) => newMessage({ text: `other ${n}` }))
    const [early] = await store.journal.accept(others)
    await wait(214)
    const reported = async () => (await createRecords(store.kv, 'crm').report()).attempts
    // The newest 200, and the three failed ones before them.
    await until(async () => (await reported()).length === 203, 'the report')
    const first = early?.id ?? ''
    await until(async () => (await reported()).every(({ event }) => event !== first), 'newer attempts')
    const [proof] = await attemptsOf(first)
    assert.partialDeepStrictEqual(proof, { subscription: 'crm', event: first, attempt: 1, status: 204 })
    const found = await until(async () => {
      const attempts = (await attemptsOf(id)).map(Object)
      return attempts.length === 4 ? attempts : undefined
    }, 'all attempts')
    assert.deepEqual(
      found.map(({ subscription, attempt, status }) => [subscription, attempt, status]),
      [500, 500, 500, 204].map((status, index) => ['crm', index + 1, status]),
    )
  })

  test('sends a long backlog once and in order while one of its conversations fails', async (t) => {
    const store = await openStore(t)
    // More than are acknowledged in one batch.
    const [total, conversations] = [1_300, 10]
    const { got, ns, url } = await startReceiver(t, (response, { n }, count) => {
      response.writeHead(n === 3 && count < 600 ? 500 : 204).end()
    })
    const retry = { attempts: 200, delay: 5, 'max-delay': 10 }
    const { show } = await startPush(t, store, [subscription(url, { concurrency: 8, retry })])
    const events = Array.from({ length: total }, (_, n) => {
      return { type: 'paid', source: 'shop', data: { n, conversation: String(n % conversations) } }
    })
    await store.topics.publish('orders', events)
    await until(async () => got.length >= total && (await show()).waiting === 0, 'an empty group')
    const all = ns().map(Number)
    const successes = all.filter((n, index) => n !== 3 || index === all.lastIndexOf(3))
    assert.equal(successes.length, total)
    for (let conversation = 0; conversation < conversations; conversation++) {
      const sent = successes.filter((n) => n % conversations === conversation)
      assert.deepEqual(
        sent,
        sent.toSorted((a, b) => a - b),
      )
    }
  })

  test('sends events that are so large that a read returns only a few', async (t) => {
    const store = await openStore(t)
    const { ns, url, wait } = await startReceiver(t)
    await store.topics.subscribe('orders', 'crm', 'now')
    for (const n of numbers(1, 12)) await emit(store, { n, text: 'x'.repeat(1_000_000) })
    await startPush(t, store, [subscription(url)])
    await wait(12)
    assert.deepEqual(ns(), numbers(1, 12))
  })

  test('keeps the order after a retry that another daemon has left', async (t) => {
    const store = await openStore(t)
    const otherArrived = Promise.withResolvers<void>()
    const { ns, url, wait } = await startReceiver(t, (response, { n }, count) => {
      if (n === 9) otherArrived.resolve()
      response.statusCode = count === 1 ? 500 : 200
      // An event of another conversation does not wait for the end of this attempt.
      if (n === 1 && count > 1) void otherArrived.promise.then(() => response.end())
      else response.end()
    })
    const subscriptions = [subscription(url, { retry: { attempts: 4, delay: 500, 'max-delay': 500 } })]
    const first = await startPush(t, store, subscriptions)
    await emitNumbers(store, 1, 1)
    await until(() => first.outcomes.includes('retry'), 'a failure')
    await first.stop(1000)
    await startPush(t, store, subscriptions, { owner: 'b' })
    await emitNumbers(store, 2, 3)
    await emit(store, { n: 9, conversation: 'other' })
    await wait(5)
    assert.deepEqual(
      ns().filter((n) => n !== 9),
      [1, 1, 2, 3],
    )
    assert.ok(ns().indexOf(9) < ns().indexOf(2), 'the other conversation first')
  })

  test('counts an event that became a job as queued, not as unread, before it is acknowledged', async (t) => {
    const store = await openStore(t)
    const acknowledging = Promise.withResolvers<void>()
    t.after(() => acknowledging.resolve())
    const ack: typeof store.topics.ack = async (...args) => {
      await acknowledging.promise
      return store.topics.ack(...args)
    }
    const { url } = await startReceiver(t, (response) => response.writeHead(503).end())
    const retry = { attempts: 9, delay: 60_000, 'max-delay': 60_000 }
    const slow = { ...store, topics: { ...store.topics, ack } }
    const { show } = await startPush(t, slow, [subscription(url, { retry })])
    await emit(store, { n: 1 })
    await until(async () => {
      const { queued, unread } = await show()
      return queued === 1 && unread === 0
    }, 'a job')
    const lag = async () => (await store.topics.groups('orders'))[0]?.lag
    assert.equal(await lag(), 1, 'the group still counts it')
    acknowledging.resolve()
    await until(async () => (await lag()) === 0, 'the acknowledgement')
    assert.equal((await show()).waiting, 1)
  })

  test('pauses, resumes, and replays from a time with the old ids', async (t) => {
    const store = await openStore(t)
    const { got, ns, url, wait } = await startReceiver(t)
    const { service, show } = await startPush(t, store, [subscription(url)])
    const byOperator = callOf({ caller: { kind: 'cli' } })
    await emitNumbers(store, 1, 2)
    await wait(2)
    const [, second] = (await store.topics.tail('orders', 0, 9)).items
    await service.pause({ name: 'crm' }, byOperator)
    await emitNumbers(store, 3, 3)
    assert.partialDeepStrictEqual(await show(), { ok: true, state: 'paused', detail: 'by cli', waiting: 1 })
    await service.resume({ name: 'crm' })
    await wait(3)
    const since = second?.event.timestamp ?? assert.fail('there is no second event')
    await service.replay({ name: 'crm', since, dryRun: false }, byOperator)
    await until(() => ns().at(-1) === 3 && got.length >= 5, 'the replay')
    assert.deepEqual(ns().slice(-2), [2, 3])
    assert.equal(got.at(-1)?.id, got[2]?.id)
  })

  test('is suggested in the error about a name that is nearly its own', async (t) => {
    const { show } = await startPush(t, await openStore(t), [subscription('https://example.com')])
    await assert.rejects(show('cmr'), /no push subscription cmr\. Did you mean crm\?/)
  })

  test('refuses to send to a private address, however it is written', async (t) => {
    const store = await openStore(t)
    const { got, url } = await startReceiver(t)
    const hosts = ['localhost', '127.0.0.1', '[::ffff:127.0.0.1]', '[::127.0.0.1]', '0x7f000001']
    for (const [index, host] of hosts.entries()) {
      const parts = { name: `s${index}`, 'allow-private': true }
      const inside = subscription(`http://${host}:${new URL(url).port}/`, parts)
      const { failure } = await startPush(t, store, [{ ...inside, allowPrivate: false }])
      await emit(store)
      assert.match(await failure(inside.name), /is a private address; set `allow-private/, host)
    }
    assert.deepEqual(got, [])
  })

  test('does not follow a redirect', async (t) => {
    const store = await openStore(t)
    const target = await startReceiver(t)
    const { url } = await startReceiver(t, (response) => {
      response.writeHead(302, { location: target.url }).end()
    })
    const { failure } = await startPush(t, store, [subscription(url)])
    await emit(store)
    assert.match(await failure(), /302 to http.*not followed/)
    assert.deepEqual(target.got, [])
  })
})

for (const { kind, place, open } of storeKinds().filter((each) => each.kind === 'redis')) {
  describe(`push subscriptions of two daemons on ${kind}`, () => {
    test('are taken over from a daemon that died, once its lease has run out', async (t) => {
      const store = await open(t, await place(t))
      const began = Date.now()
      const lease = 300
      await store.leases.acquire('push/crm', 'the dead one', lease)
      const { ns, url, wait } = await startReceiver(t)
      await startPush(t, store, [subscription(url)], { owner: 'b' })
      await emitNumbers(store, 1, 2)
      await wait(2)
      assert.deepEqual(ns(), [1, 2])
      assert.ok(Date.now() - began >= lease)
    })

    test('send each event once, also when one daemon takes over from the other', async (t) => {
      const data = await place(t)
      const [first, second] = [await open(t, data), await open(t, data)]
      const { got, ns, url, wait } = await startReceiver(t)
      const a = await startPush(t, first, [subscription(url)])
      await startPush(t, second, [subscription(url)], { owner: 'b' })
      await emitNumbers(first, 1, 50)
      await wait(50)
      await a.stop(1000)
      await emitNumbers(second, 51, 100)
      await wait(100)
      assert.deepEqual(ns(), numbers(1, 100))
      assert.equal(new Set(got.map(({ id }) => id)).size, 100)
    })
  })
}
