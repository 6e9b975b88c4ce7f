import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { isJsonObject } from '../../src/core/json.ts'
import type { Store } from '../../src/core/store.ts'
import { createRecords } from '../../src/features/push/records.ts'
import { callOf } from '../engine/kit.ts'
import { until } from '../fixtures/until.ts'
import { storeKinds } from '../runtime/support/store.ts'
import { emit, startPush, subscription } from './push-kit.ts'
import { startReceiver } from './push-receiver.ts'

const OPERATOR = callOf({ caller: { kind: 'cli', id: 'ada@host' } })
const MANY = 30
/** Failed events wait for an hour. */
const retry = { attempts: 9, delay: 3_600_000, 'max-delay': 3_600_000 }

/**
 * A receiver that answers with `status.now`, and not at all while that is 0. `ids`: of all pushes.
 */
async function startPushes(t: TestContext, store: Store) {
  const status = { now: 204 }
  const waiting: (() => void)[] = []
  const receiver = await startReceiver(t, (response) => {
    const answer = () => void response.writeHead(status.now).end()
    if (status.now === 0) waiting.push(answer)
    else answer()
  })
  const settings = subscription(receiver.url, { retry, concurrency: 2 })
  const push = await startPush(t, store, [settings])
  const show = (id: string) => push.work.service.show({ id })
  return {
    ...push,
    ...receiver,
    settings,
    status,
    ids: () => receiver.got.map(({ id }) => id),
    answerAll(code: number) {
      status.now = code
      for (const answer of waiting.splice(0)) answer()
    },
    job: show,
    untilIdle: () => until(async () => (await push.show()).waiting === 0, 'an empty queue'),
    /** Publishes events of different conversations, and waits until they are acknowledged. */
    async delivered(count: number): Promise<string[]> {
      const ids: string[] = []
      for (let n = 0; n < count; n++) ids.push(await emit(store, { n, conversation: `c${n}` }))
      await receiver.wait(count)
      await until(async () => {
        const [group] = await store.topics.groups('orders')
        return group?.lag === 0 && group.pending === 0
      }, 'the acknowledgements')
      return ids
    },
    /** Starts a replay, by default of all events, and waits until it has handed them to the push. */
    async replay(of: { from?: string; to?: string; withdrawn?: string } = {}): Promise<string> {
      const { job } = await push.service.replay({ name: 'crm', dryRun: false, ...of }, OPERATOR)
      const id = job?.id ?? ''
      await until(async () => (await show(id)).state === 'done', 'the end of the queueing')
      return id
    },
  }
}

for (const { kind, place, open } of storeKinds()) {
  describe(`a replay that is cancelled while it delivers, on the ${kind} store`, () => {
    test('withdraws its events that wait, and no others', async (t) => {
      const store = await open(t, await place(t))
      const push = await startPushes(t, store)
      const ids = await push.delivered(MANY)
      push.status.now = 503
      const own = await emit(store, { conversation: 'own' })
      await until(async () => (await push.show()).queued === 1, 'a job of the push itself')
      const id = await push.replay()
      await until(async () => Number((await push.show()).queued) >= 2, 'a failed event of the replay')
      const later = await emit(store, { conversation: 'later' })
      const cancelled = await push.work.service.cancel({ id }, OPERATOR)
      assert.equal(cancelled.state, 'cancelled')
      assert.equal(cancelled.withdrawing, undefined)
      const { withdrawn = 0, interrupted = 0 } = Object(cancelled.result)
      assert.equal(withdrawn + interrupted, MANY)
      assert.partialDeepStrictEqual(cancelled.outcomes, { delivered: 0, waiting: 0, withdrawn })
      const before = push.got.length
      push.status.now = 204
      await push.service.retry({ name: 'crm' })
      await push.untilIdle()
      assert.deepEqual(await push.service.retry({ name: 'crm' }), { ok: true, waiting: 0 })
      const after = push.ids().slice(before)
      assert.deepEqual(after.toSorted(), [own, later].toSorted())
      assert.ok(ids.every((each) => !after.includes(each)))
      await assert.rejects(() => push.work.service.cancel({ id }, OPERATOR), { code: 'job_ended' })
    })

    test('can be followed by one of the withdrawn events only, whose numbers add up', async (t) => {
      const store = await open(t, await place(t))
      const push = await startPushes(t, store)
      await push.delivered(MANY)
      push.status.now = 503
      const id = await push.replay()
      await until(async () => Number((await push.show()).queued) >= 2, 'failed events of the replay')
      await push.work.service.cancel({ id }, OPERATOR)
      const { ids = [] } =
        (await createRecords(store.kv, 'crm').withdrawn.of((await push.job(id)).startedAt)) ?? {}
      const [gone = '', ...left] = ids
      await store.erasing.dropEvents('orders', [gone])
      const before = push.got.length
      push.status.now = 204
      await push.service.retry({ name: 'crm' })
      const wanted = { name: 'crm', dryRun: false, withdrawn: id }
      const { job } = await push.service.replay(wanted, OPERATOR)
      await until(async () => (await push.job(job?.id ?? '')).state === 'done', 'the end of the queueing')
      await push.untilIdle()
      await until(() => push.got.length === before + left.length, 'the withdrawn events')
      assert.deepEqual(push.ids().slice(before).toSorted(), left.toSorted())
      const { result, total } = await push.job(job?.id ?? '')
      assert.partialDeepStrictEqual(result, { events: left.length, gone: 1 })
      assert.equal(total, ids.length)
      const all = await push.job(await push.replay())
      assert.partialDeepStrictEqual(all.result, { events: MANY - 1 })
      const unknown = push.service.replay({ ...wanted, withdrawn: all.id }, OPERATOR)
      await assert.rejects(unknown, { code: 'bad_request' })
    })

    test('can be counted before its withdrawn events are replayed, without other dead letters', async (t) => {
      const store = await open(t, await place(t))
      const push = await startPushes(t, store)
      const [first = '', between = '', last = ''] = await push.delivered(3)
      await push.service.pause({ name: 'crm' }, OPERATOR)
      const id = await push.replay()
      await push.work.service.cancel({ id }, OPERATOR)
      const records = createRecords(store.kv, 'crm')
      const { startedAt } = await push.job(id)
      await store.kv.set(`${records.key}:withdrawn:${startedAt}`, {
        from: first,
        to: last,
        ids: [first, last],
      })
      const dead = `push/crm/${between}`
      await store.jobs.add('push/crm', [
        { id: dead, lane: dead, group: 'crm', data: { event: { id: between } } },
      ])
      const error = { at: Date.now(), code: 'push_failed', message: 'it answered 503' }
      const { items } = await store.jobs.claim('push/crm', { max: 1, lease: 60_000 })
      const letters = items.map(({ id: of, token }) => ({
        id: of,
        token,
        outcome: 'dead' as const,
        reason: 'attempts' as const,
        error,
      }))
      await store.jobs.settle('push/crm', letters)
      const counted = await push.service.replay({ name: 'crm', dryRun: true, withdrawn: id }, OPERATOR)
      assert.partialDeepStrictEqual(counted, { dead: 0, delivered: 2, redelivered: 2 })
    })

    test('names the withdrawn events, and says that nothing follows their attempts', async (t) => {
      const store = await open(t, await place(t))
      const push = await startPushes(t, store)
      const ids = await push.delivered(MANY)
      push.status.now = 503
      const id = await push.replay()
      await until(async () => Number((await push.show()).queued) >= 2, 'failed events of the replay')
      const job = await push.work.service.cancel({ id }, OPERATOR)
      const { at = 0, by } = job.cancelled ?? {}
      assert.equal(by, 'ada@host')
      assert.ok(at >= job.startedAt && job.settledAt === undefined)
      const { messages, groups } = await push.undeliveredEventsOf(job, OPERATOR.caller)
      const named = messages.map((each) => each.id)
      const { withdrawn, withdrawnFrom, withdrawnTo } = Object(job.result)
      assert.deepEqual(
        groups.map(({ outcome, count }) => [outcome, count]),
        [['withdrawn', withdrawn]],
      )
      assert.ok(named.length === withdrawn && named.every((each) => ids.includes(each)))
      assert.deepEqual([withdrawnFrom, withdrawnTo], [named.toSorted()[0], named.toSorted().at(-1)])

      const { attempts } = Object(await push.service.show({ name: 'crm', limit: 200 }, OPERATOR))
      const failed = attempts.find(
        (each: { event: string; reason?: string }) => each.reason && named.includes(each.event),
      )
      assert.deepEqual([failed.withdrawn, failed.nextAt], [{ at, by }, undefined])
      const { eventState } = Object(
        await push.service.show({ name: 'crm', event: failed.event, limit: 50 }, OPERATOR),
      )
      assert.deepEqual([eventState.state, eventState.withdrawn], ['delivered', { at, by }])
      assert.ok(eventState.at < at)
      // An event that the push has got in no other way is withdrawn.
      const records = createRecords(store.kv, 'crm')
      await push.stop(0)
      await records.changeReport((report) => ({
        ...report,
        attempts: report.attempts.filter(({ reason }) => reason !== undefined),
      }))
      const alone = await push.service.show({ name: 'crm', event: failed.event, limit: 50 }, OPERATOR)
      assert.deepEqual(Object(alone).eventState, { state: 'withdrawn', at, by })
    })

    test('leaves the events that a later replay counts on', async (t) => {
      const store = await open(t, await place(t))
      const push = await startPushes(t, store)
      const ids = await push.delivered(3)
      push.status.now = 503
      const first = await push.replay()
      await until(async () => Number((await push.show()).queued) === 3, 'the failed events')
      const later = await push.replay()
      assert.partialDeepStrictEqual((await push.job(later)).result, { events: 0, queued: 3 })
      const cancelled = await push.work.service.cancel({ id: first }, OPERATOR)
      assert.partialDeepStrictEqual(cancelled.result, { withdrawn: 0, kept: 3 })
      const before = push.got.length
      push.status.now = 204
      await push.service.retry({ name: 'crm' })
      await push.untilIdle()
      assert.deepEqual(push.ids().slice(before).toSorted(), ids.toSorted())
    })

    test('withdraws the events that a later replay of single events does not select', async (t) => {
      const store = await open(t, await place(t))
      const push = await startPushes(t, store)
      const [first = '', second = '', third = '', last = ''] = await push.delivered(4)
      push.status.now = 503
      const cancel = async (id: string) => (await push.work.service.cancel({ id }, OPERATOR)).result
      const replayed = async (count: number, range: { from: string; to: string }) => {
        const id = await push.replay(range)
        await until(async () => Number((await push.show()).queued) === count, 'the failed events')
        return id
      }
      const between = await replayed(2, { from: second, to: third })
      const outer = await replayed(4, { from: first, to: last })
      assert.partialDeepStrictEqual(await cancel(outer), { withdrawn: 2, withdrawnFrom: first })
      assert.partialDeepStrictEqual(await cancel(between), { withdrawn: 2 })
      // A success closes the circuit.
      push.status.now = 204
      await emit(store)
      await push.service.retry({ name: 'crm' })
      await push.untilIdle()
      push.status.now = 503
      const again = await replayed(2, { from: second, to: third })
      const later = await push.replay({ withdrawn: outer })
      assert.partialDeepStrictEqual((await push.job(later)).result, { events: 2 })
      assert.partialDeepStrictEqual(await cancel(again), { withdrawn: 2 })
      const before = push.got.length
      push.status.now = 204
      await push.service.retry({ name: 'crm' })
      await push.untilIdle()
      assert.deepEqual(push.ids().slice(before).toSorted(), [first, last].toSorted())
    })

    test('lets end what is being sent, and counts it', async (t) => {
      const store = await open(t, await place(t))
      const push = await startPushes(t, store)
      await push.delivered(MANY)
      push.status.now = 0
      const id = await push.replay()
      await push.wait(MANY + 2)
      const cancelling = push.work.service.cancel({ id }, OPERATOR)
      const { control } = createRecords(store.kv, 'crm')
      await until(async () => (await control()).withdrawals, 'the request')
      push.answerAll(204)
      const { outcomes } = await cancelling
      // The push may have begun further attempts before it saw the request.
      const delivered = push.got.length - MANY
      assert.ok(delivered >= 2 && delivered < MANY)
      assert.deepEqual(outcomes, { delivered, waiting: 0, dead: 0, withdrawn: MANY - delivered })
    })

    test('delivers once what the push had queued itself', async (t) => {
      const store = await open(t, await place(t))
      const push = await startPushes(t, store)
      await push.delivered(1)
      await push.service.pause({ name: 'crm' }, OPERATOR)
      const own = [await emit(store, { conversation: 'a' }), await emit(store, { conversation: 'b' })]
      const id = await push.replay()
      const { outcomes } = await push.work.service.cancel({ id }, OPERATOR)
      assert.deepEqual(outcomes, { delivered: 0, waiting: 0, dead: 0, withdrawn: 1 })
      await push.service.resume({ name: 'crm' })
      await push.wait(3)
      await push.untilIdle()
      assert.deepEqual(push.ids().slice(1).toSorted(), own.toSorted())
    })

    test('is withdrawn by the daemon that sends, at the request of another one', async (t) => {
      const at = await place(t)
      const store = await open(t, at)
      const push = await startPushes(t, store)
      await push.delivered(MANY)
      push.status.now = 503
      const id = await push.replay()
      await until(async () => (await push.job(id)).delivering, 'waiting events')
      await push.work.stop()
      const other = await startPush(t, store, [push.settings], { owner: 'b' })
      const { result } = await other.work.service.cancel({ id }, OPERATOR)
      assert.ok(isJsonObject(result) && Number(result.withdrawn) > 0)
      push.status.now = 204
      const before = push.got.length
      const last = await emit(store, { conversation: 'last' })
      await push.untilIdle()
      assert.deepEqual(push.ids().slice(before), [last])
    })
  })
}
