import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectsIn, pathGet, toJson } from '../../src/core/json.ts'
import { MINUTE } from '../../src/core/units.ts'
import { humanSubscription } from '../../src/engine/print/subscription.ts'
import { withArrivals } from '../../src/features/push/arrivals.ts'
import { createAttemptList } from '../../src/features/push/attempt-list.ts'
import { createExchanges } from '../../src/features/push/exchanges.ts'
import { policyOf } from '../../src/features/push/policy.ts'
import { CHUNKS, createRecords } from '../../src/features/push/records.ts'
import { policyInWords } from '../../src/lib/push-policy-words.ts'
import { callOf, newMessage } from '../engine/kit.ts'
import { until } from '../fixtures/until.ts'
import { openStore } from '../runtime/support/store.ts'
import { emit, SECRET, startPush, subscription } from './push-kit.ts'
import { startReceiver } from './push-receiver.ts'

const call = callOf({ caller: { kind: 'cli' } })

test('a failed attempt says when the next one follows, and the last one that the event is dead', async (t) => {
  const store = await openStore(t)
  const { url } = await startReceiver(t, (response) => response.writeHead(503).end('disk full'))
  const slow = { attempts: 2, delay: '1h', 'max-delay': '1h' }
  const { service, show } = await startPush(t, store, [subscription(url, { retry: slow })])
  await emit(store, { n: 1 })
  const waiting = await until(async () => {
    const [newest] = (await show()).attempts
    return newest?.nextAt === undefined ? undefined : newest
  }, 'the time of the next attempt')
  assert.ok(waiting.nextAt > Date.now() + MINUTE)
  await service.retry({ name: 'crm' })
  const [dead, first] = await until(async () => {
    const { attempts } = await show()
    return attempts[0]?.isDead ? attempts : undefined
  }, 'the dead letter')
  assert.deepEqual([dead.attempt, dead.nextAt, first.attempt, first.nextAt], [2, undefined, 1, undefined])
})

test('an attempt begins when its event is sent, not when it begins to wait for the rate', async (t) => {
  const store = await openStore(t)
  const { url, wait } = await startReceiver(t, (response) => response.writeHead(200).end('thanks'))
  const { show } = await startPush(t, store, [subscription(url, { rate: '10/s' })])
  for (let n = 0; n < 4; n++) await emit(store, { n })
  await wait(4)
  const times = await until(async () => {
    const { attempts } = await show()
    return attempts.length === 4 ? objectsIn(attempts).map(({ at }) => Number(at)) : undefined
  }, 'four attempts')
  assert.ok(Math.max(...times) - Math.min(...times) >= 290, `${times}`)
})

test('the attempts at an event are shown with their requests and answers, without secrets', async (t) => {
  const store = await openStore(t)
  const { url, wait } = await startReceiver(t, (response, { headers }, count) => {
    const repeated = `${headers.authorization} ${'x'.repeat(5_000)}`
    response.setHeader('x-trace', 'abc').setHeader('set-cookie', 'sid=1')
    response.writeHead(count === 1 ? 503 : 200).end(count === 1 ? repeated : 'thanks')
  })
  const headers = { authorization: 'Bearer open-sesame', 'x-team': 'books' }
  const { service, show } = await startPush(t, store, [subscription(url, { headers })])
  await emit(store, { n: 7 })
  await wait(2)
  const { attempts } = await until(async () => {
    const shown = await show()
    return shown.attempts.length === 2 ? shown : undefined
  }, 'two attempts')
  const { event } = attempts[0]
  const shown = Object(await service.show({ name: 'crm', event, limit: 50 }, call))
  assert.deepEqual(JSON.parse(shown.sent).data, { n: 7 })
  const [accepted, failed] = shown.attempts
  assert.deepEqual(accepted.exchange.response.body, 'thanks')
  const { request, response } = failed.exchange
  assert.equal(request.url, url.split('?')[0])
  assert.equal(request.bytes, shown.sent.length)
  assert.partialDeepStrictEqual(request.headers, {
    authorization: '[secret]',
    'x-team': '[secret]',
    'webhook-signature': '[secret]',
    'webhook-id': event,
    'content-type': 'application/json',
  })
  assert.partialDeepStrictEqual(response.headers, { 'x-trace': 'abc', 'set-cookie': '[secret]' })
  assert.ok(response.body.length < 1_100, `${response.body.length} characters`)
  const other = Object(await service.show({ name: 'crm', event: 'none', limit: 50 }, call))
  assert.deepEqual([other.attempts, other.sent], [[], undefined])
})

test('the state of an event says whether it is delivered, waits, is dead or is not kept', async (t) => {
  const store = await openStore(t)
  const { url } = await startReceiver(t, (response, _, count) =>
    response.writeHead(count === 1 ? 200 : 503).end(),
  )
  const slow = { attempts: 2, delay: '1h', 'max-delay': '1h' }
  const match = { 'data.wanted': true }
  const { service, show } = await startPush(t, store, [subscription(url, { retry: slow, match })])
  const stateOf = async (event: string) =>
    Object(await service.show({ name: 'crm', event, limit: 50 }, call)).eventState
  const reaches = (event: string, wanted: string) =>
    until(async () => ((await stateOf(event)).state === wanted ? stateOf(event) : undefined), wanted)
  const first = await emit(store, { wanted: true })
  await reaches(first, 'delivered')
  const excluded = await emit(store, { wanted: false })
  await reaches(excluded, 'excluded')
  const second = await emit(store, { wanted: true })
  await until(async () => (await stateOf(second)).nextAt, 'the time of the next attempt')
  await service.retry({ name: 'crm' })
  const { deadLetter } = await reaches(second, 'dead')
  await store.jobs.deadLetters.drop(deadLetter)
  assert.deepEqual(await reaches(second, 'removed'), { state: 'removed' })
  assert.deepEqual(await stateOf('none'), { state: 'unknown' })
  const { kept, attempts } = await show()
  assert.deepEqual([kept.count, kept.since], [3, attempts.at(-1).at])
  await service.pause({ name: 'crm' }, call)
  const third = await until(async () => {
    const id = await emit(store, { wanted: true })
    return (await stateOf(id)).state === 'unread' ? id : undefined
  }, 'an unread event')
  assert.ok(third)
})

test('the attempts of another push at the same message are not shown', async (t) => {
  const store = await openStore(t)
  const { url } = await startReceiver(t, (response, _, count) =>
    response.writeHead(count === 1 ? 503 : 200).end(),
  )
  const pushes = [
    subscription(url, { topic: 'gateway-message' }),
    subscription(url, { name: 'erp', topic: 'gateway-message', match: { gateway: 'shop' } }),
  ]
  const { service } = await startPush(t, store, pushes)
  const [accepted] = await store.journal.accept([newMessage({ gateway: 'support' })])
  const event = String(accepted?.id)
  const showOf = async (name: string) => Object(await service.show({ name, event, limit: 50 }, call))
  await until(async () => (await showOf('crm')).eventState.state === 'delivered' || undefined, 'a delivery')
  await until(async () => (await showOf('erp')).eventState.state !== 'unread' || undefined, 'the other push')
  const { attempts, eventState } = await showOf('erp')
  assert.deepEqual([attempts, eventState], [[], { state: 'excluded' }])
})

test('a token of other gateways gets neither the event nor what the receiver answered', async (t) => {
  const store = await openStore(t)
  const { url, wait } = await startReceiver(t, (response) => response.end('thanks, Ada'))
  const { service } = await startPush(t, store, [subscription(url, { topic: 'gateway-message' })])
  const message = newMessage({ gateway: 'support' })
  const [accepted] = await store.journal.accept([message])
  await wait(1)
  const showFor = (gateways?: string[]) => {
    const caller = { kind: 'http', skills: ['subscription-show'], ...(gateways && { gateways }) } as const
    return service.show({ name: 'crm', event: String(accepted?.id), limit: 50 }, callOf({ caller }))
  }
  const own = await until(async () => {
    const shown = Object(await showFor(['support']))
    return shown.attempts[0]?.exchange ? shown : undefined
  }, 'the exchange')
  assert.equal(own.attempts[0].exchange.response.body, 'thanks, Ada')
  assert.ok(own.sent)
  const other = Object(await showFor(['shop']))
  assert.equal(other.attempts.length, 1)
  assert.deepEqual([other.sent, other.attempts[0].exchange], [undefined, undefined])
})

test('of very many requests and answers, the newest are kept, and of those the failed ones', async (t) => {
  const store = await openStore(t)
  const records = createRecords(store.kv, 'crm')
  const exchanges = createExchanges(records, 0)
  const exchangeAt = (at: number) => ({ at, event: 'e', request: { url: 'u', headers: {}, bytes: 1 } })
  const keptAt = async () => (await records.exchanges('e')).map(({ at }) => at).toSorted((a, b) => a - b)
  // The first five and the last ten fail.
  for (let at = 0; at < 40; at++) exchanges.add(at < 5 || at >= 30, () => exchangeAt(at))
  await exchanges.write()
  assert.deepEqual(
    await keptAt(),
    [0, 1, 2, 3, 4, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39],
  )
  for (let at = 50; at < 80; at++) exchanges.add(true, () => exchangeAt(at))
  exchanges.add(false, () => exchangeAt(80))
  await exchanges.write()
  assert.deepEqual([(await keptAt()).at(-20), (await keptAt()).at(-1)], [60, 79])
  for (let at = 100; at < 1_000; at += 1) {
    exchanges.add(false, () => exchangeAt(at))
    await exchanges.write()
  }
  const newest = await keptAt()
  assert.ok(newest.length <= CHUNKS * 20 && newest.length >= (CHUNKS - 1) * 20, String(newest.length))
  assert.deepEqual([newest.at(-1), newest.includes(900), newest.includes(700)], [999, true, false])
})

test('a request and its answer that were erased do not come back with the next ones', async (t) => {
  const { kv } = await openStore(t)
  const records = createRecords(kv, 'crm')
  const exchanges = createExchanges(records, 0)
  const keep = async (event: string) => {
    exchanges.add(true, () => ({ at: 1, event, request: { url: 'u', headers: {}, bytes: 1 } }))
    await exchanges.write()
  }
  await keep('of-ada')
  await keep('of-bob')
  const [, ofBob] = objectsIn((await kv.get('trivium:push:crm:exchanges:0'))?.value ?? null)
  await kv.set('trivium:push:crm:exchanges:0', [ofBob ?? null])
  await keep('of-eve')
  const counts = ['of-ada', 'of-bob', 'of-eve'].map(async (event) => (await records.exchanges(event)).length)
  assert.deepEqual(await Promise.all(counts), [0, 1, 1])
})

test('the policy of a push says how often and how long it tries', () => {
  const policyWith = (retry: object) =>
    policyOf(subscription('https://crm.example', { retry, secret: SECRET }))
  assert.deepEqual(policyWith({ attempts: 4, delay: '10s', 'max-delay': '30s' }).lasts, {
    least: 30_000,
    most: 60_000,
  })
  const words = (retry: object) => policyInWords(policyWith(retry))
  assert.deepEqual(words({ attempts: 4, delay: '10s', 'max-delay': '30s' }), {
    retries:
      'up to 4 attempts over 30 s to 1 min, the first retry after 5 s to 10 s, later ones up to 30 s apart; then a dead letter',
    timeout: '15 s for the answer',
    signature: 'Standard Webhooks, 1 secret',
  })
  assert.match(words({ attempts: 1 }).retries, /^none: an event is a dead letter after/)
})

test('an attempt that was erased does not come back with the next one', async (t) => {
  const store = await openStore(t)
  const { url } = await startReceiver(t, (response) => response.end('thanks'))
  const { show } = await startPush(t, store, [subscription(url)])
  const shown = async (event: string) => {
    const { attempts } = await show()
    return objectsIn(attempts).some((each) => each.event === event)
  }
  const [ofAda, ofBob] = [await emit(store, { n: 1 }), await emit(store, { n: 2 })]
  await until(async () => (await shown(ofAda)) && (await shown(ofBob)), 'both attempts')
  const key = 'trivium:push:crm:report'
  const report = Object((await store.kv.get(key))?.value)
  const attempts = objectsIn(report.attempts).filter(({ event }) => event !== ofAda)
  await store.kv.set(key, { ...report, attempts })
  const ofEve = await emit(store, { n: 3 })
  await until(() => shown(ofEve), 'the next attempt')
  assert.deepEqual([await shown(ofAda), await shown(ofBob)], [false, true])
})

test('a failed attempt says that its event has arrived since by a replay, and is no longer open', async (t) => {
  const store = await openStore(t)
  let isDown = true
  const { url } = await startReceiver(t, (response) => response.writeHead(isDown ? 503 : 204).end())
  const { service, show } = await startPush(t, store, [subscription(url, { retry: { attempts: 1 } })])
  const shown = async (filter: object) =>
    objectsIn(Object(await service.show({ name: 'crm', limit: 50, ...filter }, call)).attempts)
  const [first, second] = [await emit(store, { n: 1 }), await emit(store, { n: 2 })]
  await until(async () => (await show()).dead === 2, 'two dead letters')
  isDown = false
  const { job } = Object(await service.replay({ name: 'crm', from: first, to: first, dryRun: false }, call))
  const { attempts } = await until(async () => {
    const state = await show()
    return state.attempts.length === 3 ? state : undefined
  }, 'the attempt of the replay')
  const [replayed, ...failed] = objectsIn(attempts)
  const arrived = failed.find(({ event }) => event === first)
  assert.equal(arrived?.deliveredAt, replayed?.at)
  assert.equal(failed.find(({ event }) => event === second)?.deliveredAt, undefined)
  assert.deepEqual(
    (await shown({ outcome: 'open' })).map(({ event }) => event),
    [second],
  )
  assert.deepEqual(await shown({ job: job.id }), [replayed])
  assert.deepEqual(Object(await show()).replays, [{ since: job.startedAt, count: 1, job: job.id }])
})

test('a failed attempt knows that its event arrived when that attempt is no longer kept', () => {
  const list = createAttemptList([])
  const attempt = { attempt: 1, ms: 1 }
  list.add({ ...attempt, at: 1, event: 'e', answer: { reason: 'it answered 503' } })
  list.add({ ...attempt, at: 2, event: 'e', since: 2, answer: {} })
  for (let n = 0; n < 1_000; n++) list.add({ ...attempt, at: 3 + n, event: `e${n}`, answer: {} })
  const shown = withArrivals(list.newest()).filter((each) => Object(each).event === 'e')
  assert.deepEqual(shown, [{ ...attempt, at: 1, event: 'e', reason: 'it answered 503', deliveredAt: 2 }])
})

test('a push with more attempts than are shown has an exact count of what waits', async (t) => {
  const store = await openStore(t)
  const { url } = await startReceiver(t, (response) => response.writeHead(503).end())
  const { service, show } = await startPush(t, store, [subscription(url, { match: { gateway: 'shop' } })])
  for (let n = 0; n < 3; n++) await emit(store, { n })
  await until(async () => (await show()).attempts.length > 1, 'two attempts')
  const shown = toJson(await service.show({ name: 'crm', limit: 1 }, call))
  assert.deepEqual([pathGet(shown, 'more'), pathGet(shown, 'least')], [true, undefined])
  assert.match(humanSubscription(shown), /^to send +\d+ events?/m)
})
