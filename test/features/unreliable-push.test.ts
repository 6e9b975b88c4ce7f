import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Store } from '../../src/core/store.ts'
import { HOUR, MINUTE } from '../../src/core/units.ts'
import { errorsSince } from '../../src/features/push/error-share.ts'
import { listSubscriptions } from '../../src/features/push/listing.ts'
import { createRecords } from '../../src/features/push/records.ts'
import { createReplayedJobs } from '../../src/features/push/replayed-jobs.ts'
import { createUnreadCounts } from '../../src/features/push/unread.ts'
import { subscriptionTroubles } from '../../src/features/troubles/subscription-troubles.ts'
import { until } from '../fixtures/until.ts'
import { openStore } from '../runtime/support/store.ts'
import { emit, startPush, subscription } from './push-kit.ts'
import { startReceiver } from './push-receiver.ts'

const listDeps = (store: Store) => ({
  isInFile: () => true,
  settledCount: () => 0,
  unreadOf: createUnreadCounts(store),
  replayedJobs: createReplayedJobs(store, async () => []),
})

test('a push that fails on every second attempt is a trouble, although it is active', async (t) => {
  const store = await openStore(t)
  const { url, wait } = await startReceiver(t, (response, _, count) =>
    response.writeHead(count % 2 === 0 ? 503 : 204).end(),
  )
  // Whichever event a failure hits, none is given up.
  const retry = { attempts: 20, delay: 5, 'max-delay': 10 }
  const push = await startPush(t, store, [subscription(url, { concurrency: 1, retry })])
  const before = Date.now()
  for (let n = 0; n < 10; n++) await emit(store, { n, conversation: `c${n}` })
  await wait(18)
  const listed = async () => {
    const [crm] = await push.service.list()
    const isCounted = crm?.errors && crm.errors.failed >= 8
    return isCounted && crm.state === 'active' && crm.queued === 0 ? crm : undefined
  }
  const crm = await until(listed, 'the failed attempts')
  assert.ok(crm.errors && crm.errors.since >= before)
  const [found, ...others] = subscriptionTroubles(crm, Date.now())
  assert.deepEqual(others, [])
  assert.equal(found?.code, 'subscription-errors')
  assert.match(String(found?.text), /it answered 503/)
  assert.equal(found?.since, crm.errors.since)
  // Old attempts tell nothing about the receiver now.
  assert.deepEqual(subscriptionTroubles(crm, Date.now() + 2 * HOUR), [])
})

test('the start of the errors stays while they last, although the attempts move on', () => {
  const attempts = (failed: number, newest: number) =>
    Array.from({ length: 20 }, (_, ago) => ({
      at: newest - ago * MINUTE,
      ...(ago % 20 < failed && { reason: 'it answered 503' }),
    }))
  const began = errorsSince(attempts(6, HOUR), undefined)
  assert.equal(began, HOUR - 5 * MINUTE)
  assert.equal(errorsSince(attempts(3, 2 * HOUR), began), began)
  assert.equal(errorsSince(attempts(1, 3 * HOUR), began), undefined)
  assert.equal(errorsSince(attempts(3, 3 * HOUR), undefined), undefined)
})

test('a receiver that fails again after a success fails since then, and its errors since they began', async (t) => {
  const store = await openStore(t)
  const records = createRecords(store.kv, 'crm')
  const report = await records.report()
  const answer = '{"error":{"message":"the disk of ingest-2 is full"}}'
  const attempts = Array.from({ length: 20 }, (_, ago) => ({
    at: 100 - ago,
    reason: 'it answered 503',
    answer,
  }))
  await records.changeReport(() => ({ ...report, attempts, failures: 20, failingSince: 90, errorsSince: 50 }))
  const shown = [subscription('http://127.0.0.1:9/crm', { name: 'crm' })]
  const [crm] = await listSubscriptions(store, shown, listDeps(store), Date.now())
  assert.deepEqual([crm?.state, crm?.failingSince, crm?.errors?.since], ['failing', 90, 50])
  // What the receiver said is in the trouble.
  const said = 'it answered 503: the disk of ingest-2 is full'
  assert.equal(crm?.errors?.reason, said)
  assert.equal(crm?.detail, `20 times in a row: ${said}`)
})

test('a push has recovered when nothing waits and its newest attempts succeeded', async (t) => {
  const store = await openStore(t)
  const records = createRecords(store.kv, 'crm')
  const attempts = Array.from({ length: 20 }, (_, ago) => ({
    at: 100 - ago,
    ...(ago >= 3 && { reason: 'it answered 503' }),
  }))
  await records.changeReport((last) => ({ ...last, attempts, errorsSince: 50 }))
  const shown = [subscription('http://127.0.0.1:9/crm', { name: 'crm' })]
  const view = listDeps(store)
  const errors = async () => (await listSubscriptions(store, shown, view, Date.now()))[0]?.errors
  assert.equal(await errors(), undefined)
  const [, , ...failedLast] = attempts
  await records.changeReport((last) => ({ ...last, attempts: failedLast }))
  assert.equal((await errors())?.failed, 17)
  await records.changeReport((last) => ({ ...last, attempts }))
  await store.jobs.add('push/crm', [{ id: 'a', lane: 'l', group: 'crm' }])
  assert.equal((await errors())?.failed, 17)
})

test('after a success, the next attempt of an event that failed before is still known', async (t) => {
  const store = await openStore(t)
  const error = { at: 1, code: 'skill_failed', message: 'it answered 503' }
  await store.jobs.add('push/crm', [{ id: 'a', lane: 'l', group: 'crm' }])
  const { items } = await store.jobs.claim('push/crm', { max: 1, lease: MINUTE })
  const [{ id = '', token = '' } = {}] = items
  await store.jobs.settle('push/crm', [{ id, token, outcome: 'retry', delay: HOUR, error }])
  const records = createRecords(store.kv, 'crm')
  const attempts = [{ at: 20 }, { at: 10, reason: 'it answered 503' }]
  await records.changeReport((last) => ({ ...last, attempts }))
  const shown = [subscription('http://127.0.0.1:9/crm', { name: 'crm' })]
  const [crm] = await listSubscriptions(store, shown, listDeps(store), Date.now())
  assert.ok(Number(crm?.nextAt) > Date.now() + MINUTE)
})
