import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOUR } from '../../src/core/units.ts'
import { attemptsOf } from '../../src/features/push/listing.ts'
import { createRecords } from '../../src/features/push/records.ts'
import { subscriptionTroubles } from '../../src/features/troubles/subscription-troubles.ts'
import { callOf, newMessage } from '../engine/kit.ts'
import { until } from '../fixtures/until.ts'
import { openStore } from '../runtime/support/store.ts'
import { emit, startPush, subscription } from './push-kit.ts'
import { startReceiver } from './push-receiver.ts'

const call = callOf({ caller: { kind: 'cli' } })
const slow = { retry: { attempts: 99, delay: '1h', 'max-delay': '1h' } }

type Attempt = { at: number; event: string; attempt: number; since?: number; job?: string; reason?: string }

test('each delivery of an event counts its attempts once, also those made while the receiver is paused', async (t) => {
  const store = await openStore(t)
  const { url, wait, got } = await startReceiver(t, (response) => response.writeHead(503).end())
  const { service, show } = await startPush(t, store, [subscription(url, slow)])
  for (let n = 0; n < 9; n++) await emit(store, { n, conversation: `c${n}` })
  await wait(9)
  for (let round = 0; round < 4; round++) {
    const before = got.length
    await service.retry({ name: 'crm' })
    await wait(before + 1)
  }
  const attempts: Attempt[] = await until(async () => {
    const shown = await show()
    return shown.attempts.length >= got.length ? shown.attempts : undefined
  }, 'all attempts')
  for (const [event, each] of Map.groupBy(attempts, (one) => one.event)) {
    const numbers = each.map(({ attempt }) => attempt).toSorted((a, b) => a - b)
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => index + 1),
      event,
    )
  }
})

test('an attempt of a replay has the job of the replay, and a count of its own', async (t) => {
  const store = await openStore(t)
  const { url, wait } = await startReceiver(t, (response, _, count) =>
    response.writeHead(count === 2 ? 204 : 503).end(),
  )
  const { service, show } = await startPush(t, store, [subscription(url, slow)])
  const event = await emit(store, { n: 1 })
  await wait(1)
  await until(async () => (await show()).attempts[0]?.nextAt, 'the next attempt')
  await service.retry({ name: 'crm' })
  await until(async () => (await service.list())[0]?.waiting === 0, 'the delivery')
  const { job } = await service.replay({ name: 'crm', dryRun: false }, call)
  await wait(3)
  const ofEvent = Object(
    await until(async () => {
      const shown = Object(await service.show({ name: 'crm', event, limit: 50 }, call))
      return shown.attempts.length === 3 ? shown : undefined
    }, 'three attempts'),
  )
  const { attempts } = await show()
  for (const shown of [attempts, ofEvent.attempts])
    assert.deepEqual(
      shown.map((each: Attempt) => [each.attempt, each.job]),
      [
        [1, job?.id],
        [2, undefined],
        [1, undefined],
      ],
    )
})

test('attempts fail since the first failure after the last success, also while a share fails', async (t) => {
  const store = await openStore(t)
  const attempts = [{ at: 90, reason: 'it answered 503' }, { at: 80 }, { at: 50, reason: 'it answered 503' }]
  const records = createRecords(store.kv, 'crm')
  await records.changeReport((last) => {
    return { ...last, attempts, failures: 1, failingSince: 90, errorsSince: 50 }
  })
  const { show } = await startPush(t, store, [subscription('http://127.0.0.1:9/crm')])
  const { state, failingSince, failedAt } = await show()
  assert.deepEqual([state, failingSince, failedAt], ['active', 90, 90])
})

test('the message says the same next attempt as the push, whose receiver is paused for longer', async (t) => {
  const store = await openStore(t)
  const push = subscription('http://127.0.0.1:9/crm', { topic: 'gateway-message' })
  const [{ id = '' } = {}] = await store.journal.accept([newMessage({ gateway: 'support' })])
  const at = Date.now()
  const failed = { at, event: id, attempt: 1, reason: 'it answered 503', nextAt: at + 10 }
  const records = createRecords(store.kv, 'crm')
  await records.changeReport((last) => ({ ...last, attempts: [failed], openUntil: at + 64_000 }))
  const [last] = await attemptsOf(store, [push], id, at)
  assert.equal(last?.nextAt, at + 64_000)
})

test('a failing push for which nothing waits says so, and is no trouble after an hour', () => {
  const at = Date.now()
  const push = {
    name: 'crm',
    topic: 'orders',
    url: 'http://127.0.0.1:9/crm',
    source: 'api',
    ok: false,
    state: 'failing',
    detail: '6 times in a row: it answered 503',
    waiting: 0,
    queued: 0,
    unread: 0,
    matching: 0,
    dead: 0,
    failedAt: at - HOUR / 2,
  } as const
  const [trouble] = subscriptionTroubles(push, at)
  assert.partialDeepStrictEqual(trouble, { code: 'subscription-down', severity: 'warning', count: 0 })
  assert.match(String(trouble?.text), /Nothing waits to be sent: its next event shows whether/)
  assert.doesNotMatch(String(trouble?.todo), /retry/)
  assert.deepEqual(subscriptionTroubles({ ...push, failedAt: at - 2 * HOUR }, at), [])
  assert.equal(
    subscriptionTroubles({ ...push, waiting: 1, failedAt: at - 2 * HOUR }, at)[0]?.severity,
    'error',
  )
})
