import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MESSAGE_TOPIC } from '../../../src/core/event.ts'
import { positionOf } from '../../../src/core/message-id.ts'
import type { Topics } from '../../../src/core/store.ts'
import fc from '../../fixtures/fast-check.ts'
import { acceptAll, MINUTE, publishAll, type StoreFactory, withStore } from './kit.ts'

/** One command, with all parameters that any command needs. */
const command = fc.record({
  do: fc.constantFrom('publish', 'read', 'ack', 'nack', 'delay', 'restore', 'wait', 'restart'),
  count: fc.integer({ min: 1, max: 4 }),
  mode: fc.constantFrom('consume', 'peek', 'lease'),
  max: fc.integer({ min: 1, max: 5 }),
  after: fc.nat(9),
  /** Indexes of events. */
  choices: fc.array(fc.nat(20), { minLength: 1, maxLength: 3 }),
  /** Whether an acknowledgement is of an earlier round. */
  isOld: fc.boolean(),
})

/**
 * A group behaves like a list of events, some of which are consumed, and some hidden until a time.
 * Reads return the first visible ones, in order.
 */
export function groupModel(factory: StoreFactory): void {
  const cases = fc.tuple(
    fc.constantFrom('t', MESSAGE_TOPIC),
    fc.array(command, { minLength: 1, maxLength: 25, size: 'max' }),
  )
  test('any sequence of reads, acks, nacks, delays and restarts of a group agrees with a simple model', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ([topic, commands]) => {
        await withStore(factory, async (bench) => {
          const { now, advance } = bench
          await bench.store.topics.subscribe(topic, 'g', 'start')
          const ids: string[] = []
          const hidden = new Map<string, number>()
          const consumed = new Set<string>()
          /** Rounds of restored events that are not consumed. */
          const restored = new Map<string, number>()
          /** Rounds of all other events, from their first read. */
          const firstRounds = new Map<string, number>()
          let round = 0
          const visible = () => ids.filter((id) => !consumed.has(id) && (hidden.get(id) ?? 0) <= now())
          for (const each of commands) {
            if (each.do === 'publish') {
              // Events of the same second may be out of order between partitions.
              advance(1_100)
              const texts = Array.from({ length: each.count }, () => 'x')
              const publish =
                topic === 't' ? publishAll(bench.store, 't', texts) : acceptAll(bench.store, texts)
              ids.push(...(await publish))
            } else if (each.do === 'wait') {
              advance(MINUTE)
            } else if (each.do === 'restart') {
              await bench.reopen()
            } else if (each.do === 'read') {
              const { max, mode } = each
              const isPartitioned = bench.store.topics.partitions(topic) > 1
              // Only peeks of a topic with one partition use `after`.
              const after = mode === 'peek' && !isPartitioned ? each.after : 0
              const expected = visible().filter((id) => Number(positionOf(id)) > after)
              const request = { group: 'g', max, mode, lease: MINUTE, after: each.after, withRounds: true }
              const [batch] = await bench.store.topics.read(topic, [request])
              const received = batch?.items.map((event) => event.id) ?? []
              // With several partitions, a read with `more` may have skipped some of them.
              const isPart = isPartitioned && batch?.more === true
              if (isPart) assert.ok(received.length <= max && received.every((id) => expected.includes(id)))
              else assert.deepEqual(received, expected.slice(0, max))
              const rounds = batch?.rounds ?? []
              for (const [index, id] of received.entries())
                if (!restored.has(id) && !firstRounds.has(id)) firstRounds.set(id, rounds[index] ?? -1)
              assert.deepEqual(
                rounds,
                received.map((id) => restored.get(id) ?? firstRounds.get(id)),
              )
              if (each.mode === 'consume')
                for (const id of received) {
                  consumed.add(id)
                  restored.delete(id)
                }
              if (each.mode === 'lease') for (const id of received) hidden.set(id, now() + MINUTE)
              const future = [...hidden].flatMap(([id, until]) =>
                !consumed.has(id) && until > now() ? [until] : [],
              )
              const nextVisible = future.length > 0 ? Math.min(...future) : undefined
              if (!isPart) assert.deepEqual(batch?.nextVisible, nextVisible)
              assert.equal(batch?.missed, 0)
            } else if (each.do === 'restore') {
              const id = ids[each.choices[0] ?? 0]
              if (id === undefined) continue
              round++
              assert.equal(await bench.store.topics.restore(topic, 'g', id, round), true)
              restored.set(id, round)
              consumed.delete(id)
              hidden.delete(id)
            } else if (each.do === 'ack' && restored.size > 0 && each.count < 3) {
              const [[id, current] = ['', 0]] = restored
              const acknowledged = each.isOld ? current - 1 : current
              const options = { round: acknowledged, areRead: true }
              const count = await bench.store.topics.ack(topic, 'g', [id], options)
              assert.equal(count, each.isOld ? 0 : 1)
              if (each.isOld) continue
              consumed.add(id)
              restored.delete(id)
            } else {
              const chosen = [...new Set(each.choices.flatMap((index) => ids[index] ?? []))]
              const unconsumed = chosen.filter((id) => !consumed.has(id))
              const areRead = each.do === 'ack' && each.choices.length % 2 === 0
              const invalid = areRead ? [] : ['nonsense', `${chosen[0]?.slice(0, -4)}0000`]
              const given = [...chosen, ...invalid, ...chosen]
              if (each.do === 'ack') {
                assert.equal(await bench.store.topics.ack(topic, 'g', given, { areRead }), unconsumed.length)
                for (const id of unconsumed) {
                  consumed.add(id)
                  restored.delete(id)
                }
              } else {
                const delay = each.do === 'delay' ? MINUTE : 0
                assert.equal(await bench.store.topics.nack(topic, 'g', given, delay), unconsumed.length)
                for (const id of unconsumed) hidden.set(id, now() + delay)
              }
            }
            const [first, last] = [each.after, each.after + each.max * 3]
            assert.equal(
              await unreadBetween(bench.store.topics, topic, first, last),
              ids.filter((id) => !consumed.has(id) && isBetween(bench.store.topics, topic, id, first, last))
                .length,
            )
          }
        })
      }),
      { numRuns: 40 },
    )
  })
}

/** The unread events of the group in the same range of each partition. */
async function unreadBetween(topics: Topics, topic: string, after: number, last: number): Promise<number> {
  const counts = Array.from({ length: topics.partitions(topic) }, (_, partition) =>
    topics.unread(topic, 'g', { after, last, partition }),
  )
  return (await Promise.all(counts)).reduce<number>((sum, count) => sum + (count ?? Number.NaN), 0)
}

function isBetween(topics: Topics, topic: string, id: string, after: number, last: number): boolean {
  const { position = 0 } = topics.placeOf(topic, id) ?? {}
  return position > after && position <= last
}
