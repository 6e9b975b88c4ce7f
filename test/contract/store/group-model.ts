import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Arbitrary } from 'fast-check'
import { MESSAGE_TOPIC } from '../../../src/core/event.ts'
import { positionOf } from '../../../src/core/message-id.ts'
import type { Topics } from '../../../src/core/store.ts'
import fc from '../../fixtures/fast-check.ts'
import { acceptAll, type Bench, MINUTE, publishAll, type StoreFactory, withStore } from './kit.ts'

/** One command, with all parameters that any command needs. */
const command = fc.record({
  do: fc.constantFrom('publish', 'read', 'ack', 'nack', 'delay', 'restore', 'withdraw', 'wait', 'restart'),
  count: fc.integer({ min: 1, max: 4 }),
  mode: fc.constantFrom('consume', 'peek', 'lease'),
  max: fc.integer({ min: 1, max: 5 }),
  after: fc.nat(9),
  /** Indexes of events. */
  choices: fc.array(fc.nat(20), { minLength: 1, maxLength: 3 }),
  /** Whether an acknowledgement is of an earlier round. */
  isOld: fc.boolean(),
})

type Command = typeof command extends Arbitrary<infer Value> ? Value : never

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
          await bench.store.topics.subscribe(topic, 'g', 'start')
          const { run, checkUnread, checkRedelivered } = createModel(bench, topic)
          for (const each of commands) {
            await run[each.do](each)
            await checkUnread(each.after, each.after + each.max * 3)
            await checkRedelivered()
          }
        })
      }),
      { numRuns: 40 },
    )
  })
}

/** Runs commands on the group `g` of a topic and on a model of it, and compares their answers. */
function createModel(bench: Bench, topic: string) {
  const { now, advance } = bench
  const topics = () => bench.store.topics
  const ids: string[] = []
  /** When hidden events become visible. */
  const hidden = new Map<string, number>()
  const consumed = new Set<string>()
  /** Rounds of restored events that are not consumed. */
  const restored = new Map<string, number>()
  /** Rounds of all other events, from their first read. */
  const firstRounds = new Map<string, number>()
  let round = 0

  const isUnread = (id: string) => !consumed.has(id)
  const isVisible = (id: string) => isUnread(id) && (hidden.get(id) ?? 0) <= now()
  const consume = (id: string) => {
    consumed.add(id)
    restored.delete(id)
  }
  const chosenBy = ({ choices }: Command) => [...new Set(choices.flatMap((index) => ids[index] ?? []))]
  /** The ids, each twice, and two ids of no event. */
  const withInvalid = (chosen: readonly string[]) => [
    ...chosen,
    'nonsense',
    `${chosen[0]?.slice(0, -4)}0000`,
    ...chosen,
  ]

  async function publish({ count }: Command) {
    // Events of the same second may be out of order between partitions.
    advance(1_100)
    const texts = Array.from({ length: count }, () => 'x')
    const published = topic === 't' ? publishAll(bench.store, 't', texts) : acceptAll(bench.store, texts)
    ids.push(...(await published))
  }

  async function read({ max, mode, after: given }: Command) {
    const isPartitioned = topics().partitions(topic) > 1
    // Only peeks of a topic with one partition use `after`.
    const after = mode === 'peek' && !isPartitioned ? given : 0
    const expected = ids.filter((id) => isVisible(id) && Number(positionOf(id)) > after)
    const request = { group: 'g', max, mode, lease: MINUTE, after: given, withRounds: true }
    const [batch] = await topics().read(topic, [request])
    assert.ok(batch)
    const received = batch.items.map((event) => event.id)
    // With several partitions, a read with `more` may have skipped some of them.
    const isPart = isPartitioned && batch.more
    if (isPart) assert.ok(received.length <= max && received.every((id) => expected.includes(id)))
    else assert.deepEqual(received, expected.slice(0, max))
    checkRounds(received, batch.rounds ?? [])
    for (const id of received) {
      if (mode === 'consume') consume(id)
      if (mode === 'lease') hidden.set(id, now() + MINUTE)
    }
    const later = [...hidden].flatMap(([id, until]) => (isUnread(id) && until > now() ? [until] : []))
    const nextVisible = later.length > 0 ? Math.min(...later) : undefined
    if (!isPart) assert.deepEqual(batch.nextVisible, nextVisible)
    assert.equal(batch.missed, 0)
  }

  function checkRounds(received: readonly string[], rounds: readonly number[]) {
    for (const [index, id] of received.entries())
      if (!restored.has(id) && !firstRounds.has(id)) firstRounds.set(id, rounds[index] ?? -1)
    assert.deepEqual(
      rounds,
      received.map((id) => restored.get(id) ?? firstRounds.get(id)),
    )
  }

  async function restore({ choices }: Command) {
    const id = ids[choices[0] ?? 0]
    if (id === undefined) return
    round++
    assert.equal(await topics().restore(topic, 'g', id, round), true)
    const isOwn = isUnread(id) && !((restored.get(id) ?? 0) > 0)
    restored.set(id, isOwn ? -round : round)
    consumed.delete(id)
    hidden.delete(id)
  }

  /** Undoes the last `restore` of an event, by its round or by another one. */
  async function withdraw({ isOld }: Command) {
    const [[id, current] = ['', 0]] = restored
    if (id === '') return
    const isOwn = current < 0
    const isConsumed = !isOld && !isOwn && isVisible(id)
    const of = isOld ? round + 1 : Math.abs(current)
    assert.equal(await topics().withdraw(topic, 'g', [id, 'nonsense'], of), isConsumed ? 1 : 0)
    if (isConsumed) consume(id)
    else if (isOwn && !isOld) restored.delete(id)
  }

  /** Acknowledges a restored event, by its own round or by an earlier one. */
  async function ackRestored({ isOld }: Command) {
    const [[id, current] = ['', 0]] = restored
    const options = { round: isOld ? current - 1 : current, areRead: true }
    assert.equal(await topics().ack(topic, 'g', [id], options), isOld ? 0 : 1)
    if (!isOld) consume(id)
  }

  async function ackChosen(each: Command) {
    const chosen = chosenBy(each)
    const unread = chosen.filter(isUnread)
    const areRead = each.choices.length % 2 === 0
    const given = areRead ? [...chosen, ...chosen] : withInvalid(chosen)
    assert.equal(await topics().ack(topic, 'g', given, { areRead }), unread.length)
    for (const id of unread) consume(id)
  }

  async function nack(each: Command, delay: number) {
    const chosen = chosenBy(each)
    const unread = chosen.filter(isUnread)
    assert.equal(await topics().nack(topic, 'g', withInvalid(chosen), delay), unread.length)
    for (const id of unread) hidden.set(id, now() + delay)
  }

  const run: Record<Command['do'], (each: Command) => Promise<unknown>> = {
    publish,
    read,
    restore,
    withdraw,
    ack: (each) => (restored.size > 0 && each.count < 3 ? ackRestored(each) : ackChosen(each)),
    nack: (each) => nack(each, 0),
    delay: (each) => nack(each, MINUTE),
    wait: async () => advance(MINUTE),
    restart: () => bench.reopen(),
  }
  return {
    run,
    /** Checks the number of unread events in a range of positions. */
    async checkUnread(after: number, last: number) {
      const expected = ids.filter((id) => isUnread(id) && isBetween(topics(), topic, id, after, last))
      assert.equal(await unreadBetween(topics(), topic, after, last), expected.length)
    },
    /** Checks how many events of each round wait. */
    async checkRedelivered() {
      const rounds = [...restored.values()].filter((each) => each > 0).sort((a, b) => a - b)
      assert.deepEqual(await redeliveredRounds(topics(), topic), rounds)
    },
  }
}

/** The unread events of the group in the same range of each partition. */
async function unreadBetween(topics: Topics, topic: string, after: number, last: number): Promise<number> {
  const counts = Array.from({ length: topics.partitions(topic) }, (_, partition) =>
    topics.unread(topic, 'g', { after, last, partition }),
  )
  return (await Promise.all(counts)).reduce<number>((sum, count) => sum + (count ?? Number.NaN), 0)
}

/** The round of each redelivered event of the group. */
async function redeliveredRounds(topics: Topics, topic: string): Promise<number[]> {
  const answers = Array.from({ length: topics.partitions(topic) }, (_, partition) =>
    topics.redelivered(topic, 'g', partition),
  )
  const rounds = (await Promise.all(answers)).flatMap((answer) => answer?.rounds ?? [])
  return rounds.flatMap(({ round, count }) => Array<number>(count).fill(round)).sort((a, b) => a - b)
}

function isBetween(topics: Topics, topic: string, id: string, after: number, last: number): boolean {
  const { position = 0 } = topics.placeOf(topic, id) ?? {}
  return position > after && position <= last
}
