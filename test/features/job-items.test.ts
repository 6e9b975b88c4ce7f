import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { LongJob } from '../../src/core/long-job.ts'
import type { Store } from '../../src/core/store.ts'
import { createLongWork } from '../../src/engine/long-work.ts'
import { createReplayEvents } from '../../src/engine/replay-events.ts'
import { createWithdrawnEvents, MAX_WITHDRAWN } from '../../src/engine/withdrawn-events.ts'
import { createIdentities, createReferences } from '../../src/features/person/person.ts'
import { createRecordsPlace } from '../../src/features/person/record-place.ts'
import { usageOfPerson } from '../../src/features/usage/forget-person.ts'
import { deliverable, unfinished } from '../../src/lib/unfinished-job.ts'
import { callOf } from '../engine/kit.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from '../runtime/support/cleanup.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { storeKinds } from '../runtime/support/store.ts'
import { emit, startPush, subscription } from './push-kit.ts'
import { startReceiver } from './push-receiver.ts'

const BY = callOf({ caller: { kind: 'cli', id: 'ada@host' } })
const ALL = { limit: 50 }

/** Erases the records about a person who sent one message, whose id is that of an event. */
async function eraseRecords({ kv }: Store, message: string): Promise<void> {
  const person = {
    identities: ['chat:ada'],
    messages: new Set([message]),
    conversations: new Set<string>(),
    files: new Set<string>(),
  }
  const identities = createIdentities(person.identities, () => false)
  const subject = { person, about: createReferences(person, identities) }
  const records = createRecordsPlace(kv, usageOfPerson, async (found) => [...found])
  for await (const _ of records.erase(subject));
}

/** A push that has delivered `count` events. */
async function pushWith(t: TestContext, store: Store, count: number) {
  const receiver = await startReceiver(t, (response) => void response.writeHead(204).end())
  const push = await startPush(t, store, [subscription(receiver.url)])
  const ids: string[] = []
  for (let n = 0; n < count; n++) ids.push(await emit(store, { n }))
  await receiver.wait(count)
  await until(async () => (await push.show()).waiting === 0, 'an empty queue')
  const job = (id: string) => push.work.service.show({ id })
  const itemsOf = push.replay.items(push.itemStates)
  return {
    ...push,
    ids,
    job,
    cancel: (id: string) => push.work.service.cancel({ id }, BY),
    pause: () => push.service.pause({ name: 'crm' }, BY),
    resume: () => push.service.resume({ name: 'crm' }),
    items: async (id: string, query: { outcome?: string; after?: string; limit: number } = ALL) =>
      itemsOf(await job(id), query, BY.caller),
    async replay(of: { from?: string; withdrawn?: string } = {}): Promise<string> {
      const { job: begun } = await push.service.replay({ name: 'crm', dryRun: false, ...of }, BY)
      const id = begun?.id ?? ''
      await until(async () => (await job(id)).state === 'done', 'the end of the queueing')
      return id
    },
    untilDelivered: (id: string, many: number) =>
      until(async () => (await job(id)).outcomes?.delivered === many, 'the deliveries'),
  }
}

/** A group that is pulled and has read `read` of `count` events. */
async function groupWith(t: TestContext, store: Store, { count, read }: { count: number; read: number }) {
  const work = createLongWork({ store, owner: 'a', log: createMemoryLog(), now: Date.now })
  cleanup(t, () => work.stop())
  const replay = createReplayEvents({ store, work, now: Date.now })
  await store.topics.subscribe('orders', 'analytics', 'start')
  for (let n = 0; n < count; n++) await emit(store, { n })
  const of = { topic: 'orders', group: 'analytics' }
  const pull = async (max: number) => {
    const [batch] = await store.topics.read('orders', [{ group: 'analytics', max, mode: 'consume' }])
    return batch?.items.map(({ id }) => id) ?? []
  }
  const job = (id: string) => work.service.show({ id })
  const itemsOf = replay.items(async () => [])
  return {
    ids: await pull(read),
    pull,
    job,
    cancel: (id: string) => work.service.cancel({ id }, BY),
    withdrawnBy: (id: string) => replay.withdrawnBy(id, of),
    items: async (id: string, query: { outcome?: string; after?: string; limit: number } = ALL) =>
      itemsOf(await job(id), query, BY.caller),
    async replay(withdrawn?: string): Promise<string> {
      const only = withdrawn === undefined ? undefined : await replay.withdrawnBy(withdrawn, of)
      const { id } = await replay.begin({ ...of, range: { ...only?.range }, only }, BY)
      await until(async () => (await job(id)).state === 'done', 'the end of the replay')
      return id
    },
  }
}

const outcomesOf = ({ items }: { items: readonly { id: string; outcome: string }[] }) =>
  items.map(({ id, outcome }) => [id, outcome])

for (const { kind, place, open } of storeKinds()) {
  describe(`the items of a replay, on the ${kind} store`, () => {
    test('to a push are all its events, by pages and by outcome', async (t) => {
      const store = await open(t, await place(t))
      const push = await pushWith(t, store, 5)
      await push.pause()
      const id = await push.replay()
      assert.deepEqual(
        outcomesOf(await push.items(id)),
        push.ids.map((event) => [event, 'waiting']),
      )
      assert.deepEqual((await push.items(id, { ...ALL, outcome: 'delivered' })).items, [])
      await push.resume()
      await push.untilDelivered(id, 5)
      const first = await push.items(id, { limit: 3, outcome: 'delivered' })
      assert.equal(first.items.length, 3)
      assert.ok(first.items.every(({ deliveredAt = 0, at = 0 }) => deliveredAt >= at))
      const rest = await push.items(id, { limit: 3, outcome: 'delivered', after: first.next ?? '' })
      const both = [...first.items, ...rest.items]
      assert.deepEqual(
        outcomesOf({ items: both }),
        push.ids.map((event) => [event, 'delivered']),
      )
      assert.equal(rest.next, undefined)
    })

    test('refuse a cursor that is of no page', async (t) => {
      const store = await open(t, await place(t))
      const push = await pushWith(t, store, 2)
      const id = await push.replay()
      for (const after of ['0.-1e20', '0.-5', '1e20', '0', '0.1.2', '', 'next'])
        await assert.rejects(push.items(id, { ...ALL, after }), { code: 'bad_request' }, after)
    })

    test('that were withdrawn name the later replay, which the cancelled job counts', async (t) => {
      const store = await open(t, await place(t))
      const push = await pushWith(t, store, 4)
      await push.pause()
      const cancelled = await push.replay()
      await push.cancel(cancelled)
      assert.equal((await push.job(cancelled)).later, undefined)
      const later = await push.replay({ withdrawn: cancelled })
      assert.deepEqual((await push.job(cancelled)).later, [{ do: 'replay', job: later, count: 4 }])
      await push.resume()
      await push.untilDelivered(later, 4)
      const action = { do: 'replay', job: later, delivered: true }
      const [listed] = (await push.work.service.list({ limit: 9, state: 'cancelled' })) as LongJob[]
      assert.deepEqual(listed?.later, [{ ...action, count: 4 }])
      const { items } = await push.items(cancelled, { ...ALL, outcome: 'withdrawn' })
      assert.deepEqual(
        items.map(({ id, later: since }) => ({ id, since })),
        push.ids.map((id) => ({ id, since: action })),
      )
      assert.deepEqual(
        outcomesOf(await push.items(later)),
        push.ids.map((id) => [id, 'delivered']),
      )
      const again = push.replay({ withdrawn: cancelled })
      await assert.rejects(again, { code: 'bad_request', message: new RegExp(later) })
    })

    test('withdrawn twice can be replayed again, and a replay of a range counts, too', async (t) => {
      const store = await open(t, await place(t))
      const push = await pushWith(t, store, 4)
      await push.pause()
      const first = await push.replay()
      await push.cancel(first)
      const second = await push.replay({ withdrawn: first })
      await push.cancel(second)
      assert.equal((await push.job(first)).later, undefined)
      const range = await push.replay({ from: push.ids[2] ?? '' })
      assert.deepEqual((await push.job(first)).later, [{ do: 'replay', job: range, count: 2 }])
      const rest = await push.replay({ withdrawn: first })
      assert.deepEqual(
        outcomesOf(await push.items(rest)),
        push.ids.slice(0, 2).map((id) => [id, 'waiting']),
      )
    })

    test('to a group are not those that it had to read anyway', async (t) => {
      const store = await open(t, await place(t))
      const group = await groupWith(t, store, { count: 5, read: 3 })
      const id = await group.replay()
      const waiting = group.ids.map((event) => [event, 'waiting'])
      assert.deepEqual(outcomesOf(await group.items(id)), waiting)
      await group.pull(9)
      assert.deepEqual(
        outcomesOf(await group.items(id)),
        group.ids.map((event) => [event, 'read']),
      )
    })

    test('to a group that were withdrawn can be replayed without the others', async (t) => {
      const store = await open(t, await place(t))
      const group = await groupWith(t, store, { count: 4, read: 4 })
      const cancelled = await group.replay()
      const [read = ''] = await group.pull(1)
      const { result } = await group.cancel(cancelled)
      const [, from = '', , to = ''] = group.ids
      assert.partialDeepStrictEqual(result, { withdrawn: 3, withdrawnFrom: from, withdrawnTo: to })
      const left = group.ids.slice(1)
      assert.deepEqual(outcomesOf(await group.items(cancelled)), [
        [read, 'read'],
        ...left.map((id) => [id, 'withdrawn']),
      ])
      const later = await group.replay(cancelled)
      assert.deepEqual(
        outcomesOf(await group.items(later)),
        left.map((id) => [id, 'waiting']),
      )
      assert.deepEqual((await group.job(cancelled)).later, [{ do: 'replay', job: later, count: 3 }])
      assert.deepEqual(await group.pull(9), left)
      const done = { do: 'replay', job: later, count: 3, delivered: true }
      assert.deepEqual((await group.job(cancelled)).later, [done])
      await assert.rejects(group.withdrawnBy(cancelled), { code: 'bad_request' })
    })

    test('that were withdrawn stay so after the erasure of a person with some of them', async (t) => {
      const store = await open(t, await place(t))
      const group = await groupWith(t, store, { count: 4, read: 4 })
      const cancelled = await group.replay()
      const [read = ''] = await group.pull(1)
      await group.cancel(cancelled)
      const [, own = '', ...left] = group.ids
      await eraseRecords(store, own)
      await store.erasing.dropEvents('orders', [own])
      assert.deepEqual(outcomesOf(await group.items(cancelled)), [
        [read, 'read'],
        ...left.map((id) => [id, 'withdrawn']),
      ])
      const job = await group.job(cancelled)
      assert.partialDeepStrictEqual(job.result, { withdrawn: 3, erased: 1 })
      assert.equal(deliverable(Object(job)), left.length)
      assert.match(
        unfinished(Object(job)).join(' '),
        /1 was erased since\. The other 2 can still be delivered/,
      )
      const later = await group.replay(cancelled)
      assert.deepEqual(await group.pull(9), left)
      const after = await group.job(cancelled)
      assert.partialDeepStrictEqual(after.later, [{ job: later, count: left.length, delivered: true }])
      assert.equal(deliverable(Object(after)), 0)
    })

    test('are known beyond those that can be replayed separately', async (t) => {
      const store = await open(t, await place(t))
      const events = createWithdrawnEvents(store.kv, 'trivium:replay:orders/many')
      const ids = Array.from({ length: MAX_WITHDRAWN + 250 }, (_, n) => `id-${String(n).padStart(5, '0')}`)
      const chunkOf = (id: string) => id.slice(0, 6)
      for (const part of [ids.slice(500), ids.slice(0, 500), ids.slice(400, 600)])
        await events.add(7, part, chunkOf)
      assert.equal((await events.of(7))?.ids.length, MAX_WITHDRAWN)
      const asked = [...ids.slice(-60), 'id-99999']
      assert.deepEqual(await events.among(7, asked, chunkOf), new Set(ids.slice(-60)))
    })
  })
}
