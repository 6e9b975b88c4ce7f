import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MESSAGE_TOPIC, OPERATIONS_TOPIC } from '../../src/core/event.ts'
import { timeOf } from '../../src/core/message-id.ts'
import type { Store } from '../../src/core/store.ts'
import { createShowEvent } from '../../src/engine/show-event.ts'
import { until } from '../fixtures/until.ts'
import { storeKinds } from '../runtime/support/store.ts'
import { callOf, newMessage } from './kit.ts'

const ADA = callOf({ caller: { kind: 'cli', id: 'ada@host', roles: ['operator'] } })

/** Publishes `count` events, and returns their ids, newest first. */
async function publish({ topics, journal }: Store, topic: string, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n++)
    if (topic === MESSAGE_TOPIC) {
      const [accepted] = await journal.accept([newMessage({ text: `m${n}`, conversation: `c${n}` })])
      ids.unshift(accepted?.id ?? '')
    } else ids.unshift(...(await topics.publish(topic, [{ type: 'order', source: 'test', data: { n } }])))
  return ids
}

for (const { kind, place, open } of storeKinds()) {
  describe(`events of a topic, on the ${kind} store`, () => {
    for (const topic of [MESSAGE_TOPIC, 'orders']) {
      test(`${topic}: pages list each event once, newest first, and consume nothing`, async (t) => {
        const store = await open(t, await place(t))
        await store.topics.subscribe(topic, 'analytics', 'start')
        const ids = await publish(store, topic, 7)
        const events = createShowEvent(store.topics)
        const pages: string[][] = []
        let before: string | undefined
        do {
          const page = Object(await events.list({ topic, limit: 3, ...(before && { before }) }, ADA))
          pages.push(page.events.map(({ id }: { id: string }) => id))
          before = page.next
        } while (before !== undefined)
        assert.deepEqual(pages, [ids.slice(0, 3), ids.slice(3, 6), ids.slice(6)])
        const [group] = await store.topics.groups(topic)
        assert.equal(group?.lag, 7)
      })
    }

    test('a list of a time has its events, in pages', async (t) => {
      const store = await open(t, await place(t))
      const ids: string[] = []
      for (let n = 0; n < 7; n++) {
        const last = ids.length === 0 ? 0 : timeOf(ids[0] ?? '')
        await until(() => Date.now() > last, 'the next millisecond')
        ids.unshift(...(await publish(store, 'orders', 1)))
      }
      const events = createShowEvent(store.topics)
      const [since, end] = [ids[5], ids[1]].map((id = '') => timeOf(id))
      const listed = async (args: object) => {
        const page = Object(await events.list({ topic: 'orders', limit: 3, ...args }, ADA))
        return { ids: page.events.map(({ id }: { id: string }) => id), next: page.next }
      }
      const range = { since, until: end }
      assert.deepEqual(await listed(range), { ids: ids.slice(2, 5), next: ids[4] })
      assert.deepEqual(await listed({ ...range, before: ids[4] }), { ids: [ids[5]], next: undefined })
      assert.deepEqual(await listed({ since: end }), { ids: ids.slice(0, 2), next: undefined })
      assert.deepEqual(await listed({ until: since }), { ids: [ids[6]], next: undefined })
      assert.deepEqual(await listed({ until: 1 }), { ids: [], next: undefined })
      assert.deepEqual(await listed({ since: end, until: since }), { ids: [], next: undefined })
    })

    test('one event is shown whole; an unknown one, and one of another topic, are not found', async (t) => {
      const store = await open(t, await place(t))
      const [second = '', first = ''] = await publish(store, 'orders', 2)
      const [other = ''] = await publish(store, 'invoices', 1)
      const events = createShowEvent(store.topics)
      for (const [id, n] of [[first, 0] as const, [second, 1] as const]) {
        const shown = await events.show({ topic: 'orders', id }, ADA)
        assert.partialDeepStrictEqual(shown, { id, topic: 'orders', type: 'order', data: { n } })
      }
      for (const id of [other, 'no-id', '00000000-0000-7000-8000-000000000000'])
        await assert.rejects(Promise.resolve(events.show({ topic: 'orders', id }, ADA)), {
          code: 'event_not_found',
        })
      assert.deepEqual(await events.list({ topic: 'empty', limit: 3 }, ADA), { events: [] })
    })

    test('topics of operators and messages of other gateways stay hidden', async (t) => {
      const store = await open(t, await place(t))
      const [id = ''] = await publish(store, MESSAGE_TOPIC, 1)
      const events = createShowEvent(store.topics)
      const program = callOf({
        caller: { kind: 'http', id: 'token:x', skills: ['event-*'], gateways: ['shop'] },
      })
      assert.deepEqual(await events.list({ topic: MESSAGE_TOPIC, limit: 3 }, program), { events: [] })
      const refused = (topic: string) => Promise.resolve(events.show({ topic, id }, program))
      await assert.rejects(refused(MESSAGE_TOPIC), { code: 'forbidden' })
      await assert.rejects(refused(OPERATIONS_TOPIC), { code: 'forbidden' })
      await assert.rejects(refused('trivium/audit'), { code: 'topic_reserved' })
    })
  })
}
