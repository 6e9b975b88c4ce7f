import assert from 'node:assert/strict'
import { MESSAGE_TOPIC } from '../../../src/core/event.ts'
import type { Retention } from '../../../src/core/retention.ts'
import type { Store } from '../../../src/core/store.ts'
import {
  acceptAll,
  bury,
  claimOne,
  DAY,
  dataOf,
  failure,
  gapId,
  HOUR,
  job,
  MINUTE,
  newest,
  part,
  publishAll,
  pumpAll,
  readGroup,
  type StoreFactory,
  saying,
  until,
} from './kit.ts'

const ONE_DAY: Retention = { journal: { maxAge: DAY, maxCount: 1_000_000 } }

/** Trims until the store has no more to remove. Returns how many entries were removed. */
async function trimAll(store: Store, policy: Retention): Promise<number> {
  let total = 0
  for (let call = 0; call < 100; call++) {
    const { removed, more } = await store.trim(policy)
    total += removed
    if (!more) return total
  }
  assert.fail('trimming does not come to an end: 100 calls had more to remove')
}

/** Upper bound of the entries that any store removes in one call of `trim`. */
const MAX_PER_TRIM = 5_000

const TOPICS = ['t', MESSAGE_TOPIC]

/**
 * Five events on each of `TOPICS`, which the group `g` reads from the start. Returns a function
 * that trims each topic to its newest `count` events.
 */
async function givenEvents(store: Store): Promise<(count: number) => Promise<number>> {
  const names = ['a', 'b', 'c', 'd', 'e']
  for (const topic of TOPICS) await store.topics.subscribe(topic, 'g', 'start')
  await publishAll(store, 't', names)
  await acceptAll(store, names)
  await pumpAll(store)
  return (maxCount) => trimAll(store, { journal: { maxAge: DAY, maxCount }, topics: { t: { maxCount } } })
}

async function textsOf(store: Store): Promise<string[]> {
  return (await newest(store, 1_000)).map(({ text }) => text).reverse()
}

/** What trimming removes and what it keeps. */
export function retentionContract(factory: StoreFactory): void {
  part(factory, 'retention', {
    'removes messages older than `maxAge` from the journal and from all roads': async ({
      store,
      advance,
    }) => {
      const [old = ''] = await acceptAll(store, ['old'], { conversation: 'c', key: 'k' })
      await store.journal.note(old, [{ at: 1, road: 'dispatch', what: 'x' }])
      await pumpAll(store)
      advance(DAY + HOUR)
      await acceptAll(store, ['new'], { conversation: 'c' })
      assert.equal(await trimAll(store, ONE_DAY), 1)
      assert.deepEqual(await textsOf(store), ['new'])
      assert.equal(await store.journal.get(old), undefined)
      const redelivered = await store.journal.accept([saying('old', { key: 'k' })])
      assert.deepEqual(redelivered, [{ id: old, duplicate: true }])
      assert.deepEqual(await store.journal.history(old), [])
      assert.equal((await newest(store, 9, { conversation: 'c' })).length, 1)
      assert.equal((await store.receive.take({}))?.message.text, 'new')
      assert.equal(await store.receive.take({ conversation: 'c' }), undefined)
      const partitions = store.topics.partitions(MESSAGE_TOPIC)
      const tails = await Promise.all(
        Array.from({ length: partitions }, (_, partition) =>
          store.topics.tail(MESSAGE_TOPIC, 0, 9, partition),
        ),
      )
      assert.equal(tails.flatMap(({ items }) => items).length, 1)
      assert.partialDeepStrictEqual(await store.stats(), { journal: { messages: 1 }, receive: { ready: 0 } })
    },
    'a leased message that was trimmed cannot be released and does not come back': async ({
      store,
      advance,
    }) => {
      await acceptAll(store, ['old'])
      await pumpAll(store)
      const taken = await store.receive.take({}, 2 * DAY)
      advance(DAY + HOUR)
      await trimAll(store, ONE_DAY)
      assert.equal((await store.stats()).receive.leased, 0)
      assert.equal(await store.receive.release(taken?.receipt ?? ''), false)
      advance(DAY)
      assert.equal(await store.receive.take({}), undefined)
    },
    'keeps messages that the pump has not read': async ({ store, advance }) => {
      await acceptAll(store, ['a', 'b', 'c'])
      const { cursor, items: messages } = await store.journal.unpumped(1)
      await store.journal.pumped(cursor, messages[0]?.id ?? '', [])
      advance(DAY + HOUR)
      await trimAll(store, { journal: { maxAge: DAY, maxCount: 1 } })
      assert.deepEqual(await textsOf(store), ['b', 'c'])
      // On shards, the leases of this store have expired, and it may have to take them again.
      const unread = new Set<string>()
      await until(async () => {
        for (const { id } of (await store.journal.unpumped(9)).items) unread.add(id)
        return unread.size === 2
      }, 'the unread messages')
    },
    'keeps the message of an unfinished job until the job ends': async ({ store, advance, now }) => {
      const [needed = ''] = await acceptAll(store, ['needed', 'unneeded'])
      await pumpAll(store)
      await store.jobs.add('q', [job('j', 'l', { messageId: needed })])
      advance(DAY + HOUR)
      await trimAll(store, ONE_DAY)
      assert.deepEqual(await textsOf(store), ['needed'])
      const { message, token } = await claimOne(store, 'q')
      assert.equal(message?.text, 'needed')
      const error = failure('x', now())
      await store.jobs.settle('q', [{ id: 'j', token, outcome: 'dead', error, reason: 'attempts' }])
      await trimAll(store, ONE_DAY)
      assert.deepEqual(await textsOf(store), [])
      const {
        items: [letter],
      } = await store.jobs.deadLetters.list({ limit: 1 })
      assert.equal(letter?.message?.text, 'needed', 'the dead letter contains the message')
      assert.equal(await store.jobs.deadLetters.retry(letter?.id ?? ''), true)
      assert.equal((await claimOne(store, 'q')).message?.text, 'needed', 'and so does its retry')
    },
    'a busy gateway with its own `maxCount` evicts no messages of other gateways': async ({ store }) => {
      const texts = Array.from({ length: 5 }, (_, n) => `busy${n}`)
      const policy: Retention = {
        ...ONE_DAY,
        gateways: { busy: { maxCount: 2 }, demo: { maxAge: 9 * DAY } },
      }
      await acceptAll(store, ['quiet'])
      await acceptAll(store, texts, { gateway: 'busy' })
      await pumpAll(store)
      assert.equal(await trimAll(store, policy), 3)
      assert.deepEqual(await textsOf(store), ['quiet', 'busy3', 'busy4'])
      assert.equal(await trimAll(store, policy), 0)
      await acceptAll(store, ['busy5'], { gateway: 'busy' })
      await pumpAll(store)
      assert.equal(await trimAll(store, policy), 1)
      assert.deepEqual(await textsOf(store), ['quiet', 'busy4', 'busy5'])
    },
    'a consumer learns once how many messages it missed; without consumers none are missed': async ({
      store,
    }) => {
      const texts = ['1', '2', '3', '4', '5', '6']
      for (const gateway of ['demo', 'unread']) await acceptAll(store, texts, { gateway, conversation: 'c' })
      assert.equal((await store.receive.take({ gateway: 'demo' }))?.missed, undefined)
      // A take from one conversation does not make a consumer of the gateway.
      await store.receive.take({ gateway: 'unread', conversation: 'c' })
      await store.receive.take({ gateway: 'demo' }, DAY)
      await pumpAll(store)
      const gateways = { demo: { maxCount: 2 }, unread: { maxCount: 2 } }
      await trimAll(store, { ...ONE_DAY, gateways })
      assert.deepEqual((await store.stats()).receive.lost, { demo: 3 }, 'two ready and one leased message')
      assert.equal((await store.receive.take({ conversation: 'c', gateway: 'demo' }))?.missed, undefined)
      const taken = await store.receive.take({ gateway: 'demo' })
      assert.deepEqual([taken?.message.text, taken?.missed], ['6', 3])
      await acceptAll(store, ['7'])
      assert.equal((await store.receive.take({ gateway: 'demo' }))?.missed, undefined)
    },
    'a consumer that has not taken for seven days does not miss later messages': async ({
      store,
      advance,
    }) => {
      await acceptAll(store, ['taken', 'untaken'])
      await store.receive.take({ gateway: 'demo' })
      advance(8 * DAY)
      await acceptAll(store, ['after a week'])
      advance(2 * DAY)
      await pumpAll(store)
      await trimAll(store, ONE_DAY)
      assert.deepEqual((await store.stats()).receive.lost, { demo: 1 }, 'the untaken message')
    },
    'a gateway can have its own `maxAge`, shorter or longer': async ({ store, advance }) => {
      await acceptAll(store, ['short'], { gateway: 'short' })
      await acceptAll(store, ['long'], { gateway: 'long' })
      await acceptAll(store, ['demo'])
      await pumpAll(store)
      advance(2 * HOUR)
      const policy: Retention = {
        journal: { maxAge: DAY, maxCount: 1_000 },
        gateways: { short: { maxAge: HOUR }, long: { maxAge: 3 * DAY } },
      }
      await trimAll(store, policy)
      assert.deepEqual(await textsOf(store), ['long', 'demo'])
      advance(DAY)
      await trimAll(store, policy)
      assert.deepEqual(await textsOf(store), ['long'])
    },
    'never reuses positions, even after everything was trimmed': async (bench) => {
      await acceptAll(bench.store, ['a', 'b'])
      await publishAll(bench.store, 't', ['a', 'b'])
      await pumpAll(bench.store)
      const ends = async () => [
        await bench.store.topics.end(MESSAGE_TOPIC),
        await bench.store.topics.end('t'),
      ]
      const before = await ends()
      bench.advance(DAY + HOUR)
      await trimAll(bench.store, ONE_DAY)
      await bench.reopen()
      assert.deepEqual(await ends(), before)
      await acceptAll(bench.store, ['c'])
      await publishAll(bench.store, 't', ['c'])
      const after = await ends()
      for (const [index, end] of after.entries()) assert.ok(end > (before[index] ?? 0), `${end}`)
      assert.equal((await bench.store.journal.unpumped(9)).items.length, 1)
    },
    'removes events by age and by count, with limits per topic': async ({ store, advance }) => {
      await publishAll(store, 'plain', ['old'])
      await publishAll(store, 'brief', ['old'])
      await publishAll(store, 'kept', ['old'])
      await publishAll(store, 'few', ['1', '2', '3', '4'])
      advance(DAY + HOUR)
      await publishAll(store, 'plain', ['new'])
      await publishAll(store, 'brief', ['new'])
      advance(2 * MINUTE)
      await trimAll(store, {
        ...ONE_DAY,
        topics: {
          brief: { maxAge: MINUTE },
          kept: { maxAge: 9 * DAY },
          few: { maxAge: 9 * DAY, maxCount: 2 },
        },
      })
      const left = async (topic: string) =>
        (await store.topics.tail(topic, 0, 10)).items.map((entry) => entry.event.data)
      assert.deepEqual(await left('plain'), ['new'])
      assert.deepEqual(await left('brief'), [])
      assert.deepEqual(await left('kept'), ['old'])
      assert.deepEqual(await left('few'), ['3', '4'])
    },
    'the lag of a group does not contain removed events': async ({ store }) => {
      const trimTo = await givenEvents(store)
      await trimTo(2)
      for (const topic of TOPICS) {
        const { items } = await readGroup(store, topic, 'g', 'peek')
        assert.ok(items.length < 5)
        assert.equal((await store.topics.groups(topic))[0]?.lag, items.length)
      }
    },
    'a group that consumes learns once how many events it missed': async ({ store }) => {
      const keep = await givenEvents(store)
      const consume = (topic: string) => readGroup(store, topic, 'g', 'consume')
      await keep(2)
      for (const topic of TOPICS) {
        const { items, missed } = await consume(topic)
        assert.deepEqual([items.length, missed], [2, 3], topic)
        assert.equal((await consume(topic)).missed, 0, topic)
        // The acknowledgement of a gap of no events acknowledges nothing.
        assert.equal(await store.topics.ack(topic, 'g', [gapId(0)]), 0, topic)
      }
      await keep(0)
      for (const topic of TOPICS) assert.equal((await consume(topic)).missed, 0, topic)
    },
    'a group that leases learns once how many events it missed': async ({ store }) => {
      const keep = await givenEvents(store)
      const lease = (topic: string) => readGroup(store, topic, 'g', 'lease', { lease: MINUTE })
      await keep(2)
      for (const topic of TOPICS) {
        const { items, missed } = await lease(topic)
        assert.deepEqual([items.length, missed], [2, 3], topic)
        assert.equal((await lease(topic)).missed, 0, topic)
        const ids = items.map(({ id }) => id)
        assert.equal(await store.topics.ack(topic, 'g', ids), 2, topic)
      }
      await keep(0)
      for (const topic of TOPICS) assert.equal((await lease(topic)).missed, 0, topic)
    },
    'peeks report how many events a group missed, until it acknowledges the gap': async ({ store }) => {
      const keep = await givenEvents(store)
      for (const { left, missed } of [
        { left: 2, missed: 3 },
        { left: 0, missed: 2 },
      ]) {
        await keep(left)
        for (const topic of TOPICS) {
          const peek = () => readGroup(store, topic, 'g', 'peek')
          const first = await peek()
          assert.deepEqual([first.items.length, first.missed], [left, missed], topic)
          assert.equal((await peek()).missed, missed, topic)
          assert.equal(await store.topics.ack(topic, 'g', [gapId(missed)]), 1, topic)
          assert.equal((await peek()).missed, 0, topic)
        }
      }
    },
    'removed events that were consumed do not count as missed': async ({ store }) => {
      const keep = await givenEvents(store)
      for (const topic of TOPICS) await readGroup(store, topic, 'g', 'consume')
      await keep(0)
      for (const topic of TOPICS)
        assert.equal((await readGroup(store, topic, 'g', 'consume')).missed, 0, topic)
    },
    'acknowledging an event also settles the gap before it, but not events trimmed after the peek': async ({
      store,
    }) => {
      await store.topics.subscribe('t', 'g', 'start')
      await publishAll(store, 't', ['a', 'b', 'c', 'd', 'e'])
      const keep = (maxCount: number) => trimAll(store, { ...ONE_DAY, topics: { t: { maxCount } } })
      const peek = () => readGroup(store, 't', 'g', 'peek')
      await keep(3)
      const { items: events } = await peek()
      assert.equal(await store.topics.ack('t', 'g', [events[1]?.id ?? '']), 1)
      assert.equal(await store.topics.ack('t', 'g', [events[0]?.id ?? '']), 1)
      const after = await peek()
      assert.deepEqual([dataOf(after), after.missed], [['e'], 2])
      await keep(0)
      assert.equal(await store.topics.ack('t', 'g', [gapId(after.missed)]), 1)
      assert.equal((await peek()).missed, 1, 'event e')
      assert.equal((await readGroup(store, 't', 'g', 'consume')).missed, 1)
      assert.equal((await peek()).missed, 0)
    },
    'peeked events that are trimmed and then acknowledged do not count as missed': async ({ store }) => {
      await store.topics.subscribe('t', 'g', 'start')
      await publishAll(store, 't', ['a', 'b', 'c', 'd', 'e', 'f'])
      const keep = (maxCount: number) => trimAll(store, { ...ONE_DAY, topics: { t: { maxCount } } })
      await keep(4)
      const before = await readGroup(store, 't', 'g', 'peek', { max: 3 })
      assert.deepEqual([dataOf(before), before.missed], [['c', 'd', 'e'], 2])
      await keep(1)
      const ids = before.items.map(({ id }) => id)
      await store.topics.ack('t', 'g', [gapId(before.missed), ...ids])
      const after = await readGroup(store, 't', 'g', 'peek')
      assert.deepEqual([dataOf(after), after.missed], [['f'], 0])
    },
    'returned events are read before new ones, also if some of them were trimmed': async (bench) => {
      const { store } = bench
      await store.topics.subscribe('t', 'g', 'start')
      await publishAll(store, 't', ['a', 'b', 'c', 'd'])
      await readGroup(store, 't', 'g', 'lease', { lease: MINUTE })
      await publishAll(store, 't', ['e', 'f'])
      await trimAll(store, { ...ONE_DAY, topics: { t: { maxCount: 4 } } })
      bench.advance(MINUTE)
      const batch = await readGroup(store, 't', 'g', 'peek', { max: 3 })
      assert.deepEqual([dataOf(batch), batch.missed], [['c', 'd', 'e'], 2])
    },
    'a gap can be acknowledged behind an event that was nacked with a delay': async ({ store, advance }) => {
      await store.topics.subscribe(MESSAGE_TOPIC, 'g', 'start')
      const [first = ''] = await acceptAll(store, ['a'])
      await acceptAll(store, ['b'], { gateway: 'brief' })
      await acceptAll(store, ['c'])
      await pumpAll(store)
      await store.topics.nack(MESSAGE_TOPIC, 'g', [first], MINUTE)
      advance(1)
      await trimAll(store, { ...ONE_DAY, gateways: { brief: { maxAge: 0 } } })
      const peek = () => readGroup(store, MESSAGE_TOPIC, 'g', 'peek')
      assert.equal((await peek()).missed, 1)
      assert.equal(await store.topics.ack(MESSAGE_TOPIC, 'g', [gapId(1)]), 1)
      assert.equal((await peek()).missed, 0)
    },
    'removes a group that was not read for a week, or for the retention of its topic if that is longer':
      async (bench) => {
        const { store, advance } = bench
        for (const group of ['idle', 'read']) await store.topics.subscribe('t', group, 'now')
        await store.topics.subscribe(MESSAGE_TOPIC, 'idle', 'now')
        const names = async () => (await store.topics.groups()).map(({ group }) => group)
        advance(6 * DAY)
        await readGroup(store, 't', 'read', 'lease')
        advance(2 * DAY)
        await trimAll(store, { ...ONE_DAY, topics: { t: { maxAge: 9 * DAY } } })
        assert.equal((await names()).length, 3)
        await trimAll(store, ONE_DAY)
        assert.deepEqual(await names(), ['read'])
      },
    'keeps the newest dead letters of each queue': async (bench) => {
      const { store, advance } = bench
      const queues = ['q', 'other']
      for (const id of ['a', 'b', 'c']) {
        for (const queue of queues) await bury(bench, queue, job(`${queue}-${id}`, 'l'))
        advance(1)
      }
      await trimAll(store, { ...ONE_DAY, deadLetters: 2 })
      const { jobs } = await store.stats()
      for (const queue of queues) {
        const { items } = await store.jobs.deadLetters.list({ queue, limit: 9 })
        assert.deepEqual(
          items.map(({ id }) => id),
          [`${queue}-c`, `${queue}-b`],
        )
        assert.equal(jobs.find((one) => one.queue === queue)?.dead, 2)
      }
    },
    'trims more topics than one call visits': async ({ store, advance }) => {
      const topics = Array.from({ length: 500 }, (_, n) => `replies:${n}`)
      await Promise.all(topics.map((topic) => publishAll(store, topic, ['old'])))
      advance(DAY + HOUR)
      assert.equal(await trimAll(store, ONE_DAY), topics.length)
    },
    'a call that removed all that was overdue has no more to remove, although it removed something': async ({
      store,
      advance,
    }) => {
      await acceptAll(store, ['old'])
      await publishAll(store, 't', ['old'])
      await pumpAll(store)
      advance(DAY + HOUR)
      await acceptAll(store, ['new'])
      await pumpAll(store)
      assert.deepEqual(await store.trim(ONE_DAY), { removed: 2, more: false })
      assert.deepEqual(await store.trim(ONE_DAY), { removed: 0, more: false })
    },
    'messages over the count do not delay the removal of other overdue data': async ({
      store,
      advance,
      now,
    }) => {
      for (const id of ['a', 'b', 'c']) await bury({ store, now }, 'q', job(id, id))
      await acceptAll(store, ['old'], { gateway: 'brief' })
      await pumpAll(store)
      advance(HOUR)
      await acceptAll(store, ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'], { conversation: 'c' })
      await pumpAll(store)
      const { more } = await store.trim({
        journal: { maxAge: DAY, maxCount: 8 },
        gateways: { brief: { maxAge: MINUTE }, demo: { maxCount: 2 } },
        deadLetters: 1,
      })
      assert.equal(more, false)
      assert.deepEqual(await textsOf(store), ['g', 'h'])
      assert.equal((await store.stats()).jobs.find(({ queue }) => queue === 'q')?.dead, 1)
    },
    'trims dead letters until there are no more than the maximum': async ({ store, now }) => {
      for (let n = 0; n < 120; n++) await bury({ store, now }, 'q', job(`letter-${n}`, 'c'))
      await trimAll(store, { ...ONE_DAY, deadLetters: 2 })
      const { dead = 0 } = (await store.stats()).jobs.find(({ queue }) => queue === 'q') ?? {}
      assert.ok(dead <= 2, `${dead} dead letters`)
    },
    'one call removes a bounded number of entries': async ({ store }) => {
      const texts = Array.from({ length: 500 }, () => 'x')
      for (let call = 0; call < 20; call++) await acceptAll(store, texts)
      await pumpAll(store)
      const { removed } = await store.trim({ journal: { maxAge: DAY, maxCount: 100 } })
      assert.ok(removed > 0 && removed <= MAX_PER_TRIM, `${removed} entries in one call`)
      await trimAll(store, { journal: { maxAge: DAY, maxCount: 100 } })
      assert.equal((await textsOf(store)).length, 100)
    },
  })
}
