import assert from 'node:assert/strict'
import { MESSAGE_TOPIC } from '../../../src/core/event.ts'
import { isId, makeId, positionOf, timeOf } from '../../../src/core/message-id.ts'
import { acceptAll, dataOf, MINUTE, part, publishAll, readGroup, type StoreFactory, WEEK } from './kit.ts'

/** An id with the time and position of another, but with its own random part. */
const forge = (id = '') => makeId(timeOf(id), positionOf(id) ?? 0)

/** Topics, consumer groups, and the topic of all messages. */
export function topicsContract(factory: StoreFactory): void {
  part(factory, 'leases of events', {
    'counted leases number the deliveries of an event, and `restore` starts over at 1': async ({
      store,
      advance,
    }) => {
      const [id = '', other = ''] = await publishAll(store, 'counted', ['a', 'b'])
      await store.topics.subscribe('counted', 'g', 'start')
      const lease = async () => {
        const request = { group: 'g', max: 1, mode: 'lease', lease: MINUTE, isCounted: true } as const
        const [batch] = await store.topics.read('counted', [request])
        return [dataOf(batch ?? { items: [] }), batch?.deliveries ?? []]
      }
      assert.deepEqual(await lease(), [['a'], [1]])
      await store.topics.nack('counted', 'g', [id], 0)
      assert.deepEqual(await lease(), [['a'], [2]])
      advance(MINUTE)
      assert.deepEqual(await lease(), [['a'], [3]])
      await store.topics.ack('counted', 'g', [id])
      assert.deepEqual(await lease(), [['b'], [1]])
      assert.equal(await store.topics.restore('counted', 'g', id, 1), true)
      assert.deepEqual(await lease(), [['a'], [1]])
      await store.topics.ack('counted', 'g', [id, other])
      assert.deepEqual(await lease(), [[], []])
      assert.equal(await store.topics.restore('counted', 'none', id, 1), false)
    },
    '`extend` leases events from now, except those whose lease has expired': async ({ store, advance }) => {
      for (const topic of ['t', MESSAGE_TOPIC]) {
        await store.topics.subscribe(topic, 'g', 'now')
        if (topic === MESSAGE_TOPIC) await acceptAll(store, ['a', 'b'])
        else await publishAll(store, topic, ['a', 'b'])
        const { items: events } = await readGroup(store, topic, 'g', 'lease', { lease: MINUTE })
        const [a = '', b = ''] = events.map(({ id }) => id)
        advance(MINUTE - 1)
        assert.equal(await store.topics.extend(topic, 'g', [a], 2 * MINUTE), 1)
        advance(MINUTE)
        const visible = (await readGroup(store, topic, 'g', 'peek')).items
        assert.deepEqual(
          visible.map(({ id }) => id),
          [b],
          topic,
        )
        assert.equal(await store.topics.extend(topic, 'g', [b, 'unknown'], MINUTE), 0)
        assert.equal(await store.topics.extend(topic, 'none', [a], MINUTE), 0)
        assert.equal(await store.topics.ack(topic, 'g', [a, b]), 2)
        advance(5 * MINUTE)
        assert.deepEqual((await readGroup(store, topic, 'g', 'peek')).items, [])
      }
    },
  })
  part(factory, 'publish', {
    'returns an event unchanged, with an id, its topic and a time': async ({ store, now }) => {
      const data = { ['__proto__' as string]: 1, deep: ['\ud800', null] }
      const event = { type: 'x', source: 's', data, rootContextId: 'r' }
      const [id = ''] = await store.topics.publish('t', [event])
      assert.ok(isId(id))
      const {
        items: [entry],
      } = await store.topics.tail('t', 0, 10)
      assert.equal(entry?.position, await store.topics.end('t'))
      assert.deepEqual(entry?.event, { ...event, id, topic: 't', timestamp: now() })
    },
    'events keep their order and their own time, across a restart': async (bench) => {
      await bench.store.topics.publish('t', [{ type: 'x', source: 's', data: 1, timestamp: 5 }])
      await publishAll(bench.store, 't', ['b', 'c'])
      const store = await bench.reopen()
      await publishAll(store, 't', ['d'])
      const items = (await store.topics.tail('t', 0, 10)).items.map((entry) => entry.event)
      assert.deepEqual(dataOf({ items }), [1, 'b', 'c', 'd'])
      assert.equal(items[0]?.timestamp, 5)
    },
    'publishes a key once within seven days, also within one call': async ({ store, advance }) => {
      const event = { type: 'x', source: 's', data: 1, key: 'k' }
      const [first, second] = await store.topics.publish('t', [event, event])
      assert.equal(second, first)
      assert.deepEqual(await store.topics.publish('t', [{ ...event, data: 2 }]), [first])
      assert.equal((await store.topics.tail('t', 0, 10)).items.length, 1)
      const [onOtherTopic] = await store.topics.publish('u', [event])
      assert.notEqual(onOtherTopic, first)
      advance(WEEK + MINUTE)
      const [later] = await store.topics.publish('t', [event])
      assert.notEqual(later, first)
    },
    'subscribing again keeps a group from being trimmed as unused': async ({ store, advance }) => {
      for (const group of ['again', 'once']) await store.topics.subscribe('t', group, 'now')
      advance(WEEK - MINUTE)
      await store.topics.subscribe('t', 'again', 'now')
      advance(2 * MINUTE)
      await store.trim({ journal: { maxAge: MINUTE, maxCount: 1 } })
      const groups = await store.topics.groups('t')
      assert.deepEqual(
        groups.map(({ group }) => group),
        ['again'],
      )
    },
    'refuses to publish on the topic of messages': async ({ store }) => {
      await assert.rejects(publishAll(store, MESSAGE_TOPIC, ['x']), { code: 'topic_reserved' })
      assert.deepEqual((await store.topics.tail(MESSAGE_TOPIC, 0, 10)).items, [])
    },
    'tail pages through a topic by position': async ({ store }) => {
      assert.equal(await store.topics.end('t'), 0)
      assert.deepEqual((await store.topics.tail('t', 0, 10)).items, [])
      await publishAll(store, 't', ['a', 'b', 'c'])
      const {
        items: [first],
      } = await store.topics.tail('t', 0, 1)
      const rest = await store.topics.tail('t', first?.position ?? -1, 10)
      assert.deepEqual(
        rest.items.map((entry) => entry.event.data),
        ['b', 'c'],
      )
      assert.equal(rest.items.at(-1)?.position, await store.topics.end('t'))
      assert.deepEqual((await store.topics.tail('t', await store.topics.end('t'), 10)).items, [])
    },
    'publishing signals the topic and no other': async ({ store }) => {
      store.onSignal('topic:other', () => assert.fail('another topic'))
      const signal = new Promise<void>((resolve) => store.onSignal('topic:t', () => resolve()))
      await publishAll(store, 't', ['a'])
      await signal
    },
  })

  part(factory, 'subscribe', {
    'a group starts with the next event (`now`) or the oldest one (`start`)': async ({ store }) => {
      await publishAll(store, 't', ['a', 'b'])
      await store.topics.subscribe('t', 'now', 'now')
      await store.topics.subscribe('t', 'start', 'start')
      await publishAll(store, 't', ['c'])
      assert.deepEqual(dataOf(await readGroup(store, 't', 'now', 'peek')), ['c'])
      assert.deepEqual(dataOf(await readGroup(store, 't', 'start', 'peek')), ['a', 'b', 'c'])
    },
    'subscribing again keeps the position': async ({ store }) => {
      await store.topics.subscribe('t', 'g', 'start')
      await publishAll(store, 't', ['a', 'b'])
      await readGroup(store, 't', 'g', 'consume', { max: 1 })
      assert.deepEqual(await store.topics.subscribe('t', 'g', 'start'), { created: false })
      assert.deepEqual(dataOf(await readGroup(store, 't', 'g', 'peek')), ['b'])
    },
    'a read returns undefined for an unknown group, next to the events of others': async ({ store }) => {
      await publishAll(store, 't', ['a'])
      await store.topics.subscribe('t', 'g', 'start')
      const requests = ['none', 'g'].map((group) => ({ group, max: 10, mode: 'peek' as const }))
      const [none, g] = await store.topics.read('t', requests)
      assert.equal(none, undefined)
      assert.deepEqual(dataOf(g ?? { items: [] }), ['a'])
      assert.deepEqual(await store.topics.read('unknown-topic', requests), [undefined, undefined])
    },
    'a group skips events that it acknowledged before reading them, next to a group with a larger read':
      async ({ store }) => {
        await store.topics.subscribe('t', 'many', 'start')
        await store.topics.subscribe('t', 'few', 'start')
        const names = Array.from({ length: 20 }, (_, index) => `e${index}`)
        const ids = await publishAll(store, 't', names)
        await store.topics.ack('t', 'few', ids.slice(1, 14))
        const [, few] = await store.topics.read('t', [
          { group: 'many', max: 16, mode: 'consume' },
          { group: 'few', max: 5, mode: 'consume' },
        ])
        assert.deepEqual(dataOf(few ?? { items: [] }), ['e0', 'e14', 'e15', 'e16', 'e17'])
        assert.equal(few?.missed, 0)
        assert.deepEqual(dataOf(await readGroup(store, 't', 'few', 'consume')), ['e18', 'e19'])
      },
    'one call acknowledges scattered events in any order, and ignores forged ids': async ({ store }) => {
      await store.topics.subscribe('t', 'g', 'start')
      const names = Array.from({ length: 300 }, (_, index) => `e${index}`)
      const ids = await publishAll(store, 't', names)
      // Acknowledged are 0 to 6, 8 to 20, 90, 180, and 200 to 299.
      const isLeft = (index: number) => index === 7 || (index > 20 && index < 200 && index % 90 > 0)
      const acknowledged = ids.filter((_, index) => !isLeft(index))
      const named = [...acknowledged.toReversed(), forge(ids[7]), 'none', acknowledged[0] ?? '']
      assert.equal(await store.topics.ack('t', 'g', named), acknowledged.length)
      assert.equal(await store.topics.ack('t', 'g', named), 0)
      const left = await readGroup(store, 't', 'g', 'peek', { max: 300 })
      assert.deepEqual(
        dataOf(left),
        names.filter((_, index) => isLeft(index)),
      )
    },
    'with `areRead`, a newest event that the store lost is not counted': async ({ store }) => {
      await store.topics.subscribe('t', 'g', 'start')
      const [a = '', , c = ''] = await publishAll(store, 't', ['a', 'b', 'c'])
      assert.equal(await store.topics.ack('t', 'g', [a, forge(c)], { areRead: true }), 1)
      assert.deepEqual(dataOf(await readGroup(store, 't', 'g', 'peek')), ['b', 'c'])
    },
    'unsubscribing removes the group with its leases': async ({ store }) => {
      await store.topics.subscribe('t', 'g', 'start')
      await publishAll(store, 't', ['a'])
      await readGroup(store, 't', 'g', 'lease', { lease: MINUTE })
      assert.equal(await store.topics.unsubscribe('t', 'g'), true)
      assert.equal(await store.topics.unsubscribe('t', 'g'), false)
      assert.equal(await store.topics.unsubscribe('none', 'g'), false)
      assert.deepEqual(await store.topics.read('t', [{ group: 'g', max: 1, mode: 'peek' }]), [undefined])
      await store.topics.subscribe('t', 'g', 'now')
      assert.deepEqual(dataOf(await readGroup(store, 't', 'g', 'peek')), [])
    },
    'seek restarts the group at the start or the end, drops its leases and signals the topic': async ({
      store,
    }) => {
      const [first = ''] = await publishAll(store, 't', ['a', 'b', 'c'])
      for (const group of ['g', 'other']) await store.topics.subscribe('t', group, 'start')
      await readGroup(store, 't', 'g', 'lease', { max: 2, lease: MINUTE })
      await store.topics.ack('t', 'g', [first])
      const signal = new Promise<void>((resolve) => store.onSignal('topic:t', () => resolve()))
      assert.equal(await store.topics.seek('t', 'g', 'start'), true)
      await signal
      assert.deepEqual(dataOf(await readGroup(store, 't', 'g', 'consume')), ['a', 'b', 'c'])
      await store.topics.seek('t', 'g', 'start')
      await store.topics.seek('t', 'g', 'now')
      const g = (await store.topics.groups('t')).find(({ group }) => group === 'g')
      assert.deepEqual([g?.lag, g?.pending], [0, 0])
      await publishAll(store, 't', ['d'])
      const { items, missed } = await readGroup(store, 't', 'g', 'consume')
      assert.deepEqual([dataOf({ items }), missed], [['d'], 0])
      assert.equal(
        (await readGroup(store, 't', 'other', 'consume')).items.length,
        4,
        'the position of the other group is unchanged',
      )
    },
    'a seek and a recreated group start a new round, in which acknowledgements of earlier ones have no effect':
      async ({ store }) => {
        for (const topic of ['t', MESSAGE_TOPIC]) {
          await store.topics.subscribe(topic, 'g', 'start')
          const ids =
            topic === 't' ? await publishAll(store, 't', ['a', 'b']) : await acceptAll(store, ['a', 'b'])
          const peekRounds = async () => {
            const request = { group: 'g', max: 9, mode: 'peek', withRounds: true } as const
            const [batch] = await store.topics.read(topic, [request])
            assert.equal(batch?.rounds?.length, 2, topic)
            const rounds = Array.from({ length: store.topics.partitions(topic) }, (_, partition) =>
              store.topics.roundOf(topic, 'g', partition),
            )
            const known = await Promise.all(rounds)
            assert.ok(batch?.rounds?.every((round) => known.includes(round)))
            return batch?.rounds ?? []
          }
          assert.equal(await store.topics.roundOf(topic, 'other'), undefined)
          const initial = await peekRounds()
          assert.deepEqual(await peekRounds(), initial, 'a repeated read')
          await store.topics.seek(topic, 'g', 'start')
          const afterSeek = await peekRounds()
          assert.ok(afterSeek.every((round) => !initial.includes(round)))
          await store.topics.seek(topic, 'g', 'start')
          const afterSecondSeek = await peekRounds()
          const earlier = [...initial, ...afterSeek]
          assert.ok(afterSecondSeek.every((round) => !earlier.includes(round)))
          await store.topics.unsubscribe(topic, 'g')
          await store.topics.subscribe(topic, 'g', 'start')
          for (const round of new Set([...earlier, ...afterSecondSeek])) {
            const current = await peekRounds()
            if (!current.includes(round)) assert.equal(await store.topics.ack(topic, 'g', ids, { round }), 0)
          }
          for (const round of new Set(await peekRounds())) await store.topics.ack(topic, 'g', ids, { round })
          assert.deepEqual((await readGroup(store, topic, 'g', 'peek')).items, [])
        }
      },
    'seek does not create an unknown group': async ({ store }) => {
      await publishAll(store, 't', ['a'])
      assert.equal(await store.topics.seek('t', 'g', 'start'), false)
      assert.equal(await store.topics.seek('none', 'g', 'now'), false)
      assert.deepEqual(await store.topics.groups(), [])
    },
    'a group skips events up to a position: unread, returned and leased ones': async ({ store }) => {
      const ids = await publishAll(store, 't', ['a', 'b', 'c', 'd', 'e'])
      await store.topics.subscribe('t', 'g', 'start')
      await readGroup(store, 't', 'g', 'lease', { max: 2, lease: MINUTE })
      await store.topics.nack('t', 'g', ids.slice(0, 1), 0)
      const last = store.topics.placeOf('t', ids[2] ?? '')?.position ?? 0
      assert.equal(await store.topics.skip('t', 'g', { last }), true)
      assert.partialDeepStrictEqual(await store.topics.groups('t'), [{ lag: 2, pending: 0, again: 0 }])
      // What was consumed before stays consumed.
      assert.equal(await store.topics.skip('t', 'g', { last: 1 }), true)
      assert.deepEqual(
        (await readGroup(store, 't', 'g', 'consume'))?.items.map(({ id }) => id),
        ids.slice(3),
      )
      await store.topics.restore('t', 'g', ids[0] ?? '', Date.now())
      assert.equal(await store.topics.skip('t', 'g', { last: 99 }), true)
      assert.partialDeepStrictEqual(await store.topics.groups('t'), [{ lag: 0, pending: 0, again: 0 }])
      await publishAll(store, 't', ['f'])
      assert.equal((await readGroup(store, 't', 'g', 'consume'))?.items.length, 1)
      assert.equal(await store.topics.skip('t', 'none', { last }), false)
    },
    'lists groups with what they have not read, what is leased and what comes again, of one topic or all':
      async ({ store }) => {
        const [first = ''] = await publishAll(store, 't', ['a', 'b', 'c'])
        await acceptAll(store, ['m'])
        for (const group of ['g', 'i']) await store.topics.subscribe('t', group, 'start')
        await store.topics.subscribe('t', 'h', 'now')
        await store.topics.subscribe(MESSAGE_TOPIC, 'g', 'start')
        await readGroup(store, 't', 'g', 'lease', { max: 2, lease: MINUTE })
        await readGroup(store, 't', 'i', 'consume', { max: 2 })
        await store.topics.restore('t', 'i', first, Date.now())
        const rows = (await store.topics.groups('t')).sort((a, b) => a.group.localeCompare(b.group))
        assert.deepEqual(
          rows.map(({ topic, group, lag, pending, again }) => ({ topic, group, lag, pending, again })),
          [
            { topic: 't', group: 'g', lag: 1, pending: 2, again: 0 },
            { topic: 't', group: 'h', lag: 0, pending: 0, again: 0 },
            { topic: 't', group: 'i', lag: 1, pending: 1, again: 1 },
          ],
        )
        assert.equal((await store.topics.groups()).length, 4)
        assert.equal((await store.topics.groups(MESSAGE_TOPIC))[0]?.lag, 1)
        assert.deepEqual(await store.topics.groups('none'), [])
      },
  })

  part(factory, 'the topic of messages', {
    'contains an event per accepted message, for every group': async (bench) => {
      const { store } = bench
      await store.topics.subscribe(MESSAGE_TOPIC, 'g', 'now')
      const ids = await acceptAll(store, ['a', 'b'])
      await store.topics.subscribe(MESSAGE_TOPIC, 'h', 'start')
      const batch = await readGroup(store, MESSAGE_TOPIC, 'g', 'consume')
      assert.deepEqual(
        batch.items.map((event) => event.id),
        ids,
      )
      assert.deepEqual(batch.items[0], {
        id: ids[0],
        topic: MESSAGE_TOPIC,
        type: 'webhook',
        source: 'demo',
        data: { messageId: ids[0], conversation: ids[0], body: 'a' },
        timestamp: bench.now(),
      })
      assert.equal((await readGroup(store, MESSAGE_TOPIC, 'h', 'peek')).items.length, 2)
      assert.deepEqual((await readGroup(store, MESSAGE_TOPIC, 'g', 'peek')).items, [])
    },
  })
}
