import assert from 'node:assert/strict'
import { positionOf, timeOf } from '../../src/core/message-id.ts'
import type { CrashRun } from './crash-run.ts'
import { CONSUMED_AT_ONCE } from './readers.ts'

/** What must hold after any number of crashes, by the sentence that says it. */
export const promises: Record<string, (run: CrashRun) => void> = {
  'every message that was acknowledged is in the journal, and nothing else is'({ promised, journal }) {
    assert.deepEqual([...journal].sort(), promised.map(idOf).sort())
  },

  'a sender that tries again under the same key makes no second message, and gets the first id'({
    promised,
  }) {
    assert.deepEqual(
      promised.filter(({ ids }) => ids.size !== 1),
      [],
    )
  },

  'every acknowledged message was dispatched to its end'({ promised, dispatched }) {
    const done = new Set(dispatched)
    const missing = promised.filter((one) => !one.poison && !done.has(idOf(one)))
    assert.deepEqual(missing.map(idOf), [])
  },

  'messages of a conversation were first dispatched in the order in which they came'({
    promised,
    dispatched,
  }) {
    const place = new Map<string, number>()
    for (const [index, id] of dispatched.entries()) if (!place.has(id)) place.set(id, index)
    // On `single` each message is a conversation of its own.
    for (const lane of lanesOf(promised.filter(({ gateway }) => gateway !== 'single'))) {
      const places = lane.filter(({ poison }) => !poison).map((one) => place.get(idOf(one)) ?? -1)
      assert.deepEqual(places, [...places].sort(ascending))
    }
  },

  'a sender that waits for each answer has its messages in the order in which it sent them'({ promised }) {
    for (const lane of lanesOf(promised.filter(({ gateway }) => gateway !== 'chat'))) {
      assert.deepEqual(
        lane.map(({ n }) => n),
        lane.map((_, index) => index),
      )
    }
  },

  'only poison became dead letters, and all of it'({ promised, deadLetters }) {
    assert.deepEqual(
      [...deadLetters].sort(),
      promised
        .filter(({ poison }) => poison)
        .map(idOf)
        .sort(),
    )
  },

  'each message was received exactly once by takers that acknowledge'({ promised, taken }) {
    const sure = taken.filter((one) => one.sure).map(({ id }) => id)
    assert.equal(new Set(sure).size, sure.length, 'a message was acknowledged twice')
    const got = new Set(taken.map(({ id }) => id))
    const missing = promised.filter((one) => one.gateway !== 'single' && !got.has(idOf(one)))
    assert.deepEqual(missing.map(idOf), [])
  },

  'a taker without a lease got no message twice, and missed one only where its call broke off'({
    promised,
    plain,
    crashes,
  }) {
    assert.equal(new Set(plain.seen).size, plain.seen.length)
    const expected = promised.filter(({ gateway }) => gateway === 'single').length
    // A daemon that dies soon after its Redis may have said so, but cannot give back what it never heard of.
    const broken = plain.cuts + crashes.both
    assert.ok(expected - plain.seen.length <= broken, `${expected} sent, ${plain.seen.length} taken`)
  },

  'a group that peeks and acknowledges saw each event, in order, and none again after its acknowledgement'({
    journal,
    groups,
    shards,
    tolerance,
  }) {
    const seen = [...new Set(groups.peek.seen)]
    if (shards === 1) assert.deepEqual(seen, journal)
    assert.deepEqual([...seen].sort(), journal)
    assert.deepEqual(lateOf(seen, tolerance), [])
    for (const one of ofShards(seen, shards)) assert.deepEqual(lateOf(one, 0), [])
    assert.deepEqual(groups.peek.seenAfterAck, [])
  },

  'a group with leases saw each event'({ journal, groups }) {
    assert.deepEqual([...new Set(groups.lease.seen)].sort(), journal)
  },

  'a group that consumes saw no event twice, in order, and missed some only where its call broke off'({
    journal,
    groups,
    crashes,
    daemons,
    tolerance,
  }) {
    const { seen, cuts } = groups.consume
    const broken = cuts + crashes.both
    assert.equal(new Set(seen).size, seen.length)
    // What one daemon gives back, when it hears of its Redis again, another may have read past meanwhile.
    const late = lateOf(seen, tolerance)
    const givenBack = (crashes.redis + crashes.network) * CONSUMED_AT_ONCE
    assert.ok(late.length <= (daemons > 1 ? givenBack : 0), `out of order: ${late}`)
    assert.ok(
      journal.length - seen.length <= broken * CONSUMED_AT_ONCE,
      `${seen.length} of ${journal.length}`,
    )
  },

  'no client got a reply twice or out of order, or an answer that it does not understand'({ complaints }) {
    assert.deepEqual(complaints, [])
  },
}

/** What comes after something that is newer by more than so many ms. */
function lateOf(ids: readonly string[], tolerance: number): string[] {
  let newest = ''
  return ids.filter((id) => {
    const isLate = id < newest && (tolerance === 0 || timeOf(id) < timeOf(newest) - tolerance)
    if (id > newest) newest = id
    return isLate
  })
}

/** Ids by the shard that their position names. */
function ofShards(ids: readonly string[], shards: number): string[][] {
  return [...Map.groupBy(ids, (id) => (positionOf(id) ?? 0) % shards).values()]
}

function idOf({ ids }: CrashRun['promised'][number]): string {
  return [...ids].join(' and ')
}

/** The messages of each conversation, in the order of the journal. */
function lanesOf(promised: CrashRun['promised']): CrashRun['promised'][] {
  const sorted = promised.toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1))
  return [...Map.groupBy(sorted, ({ conversation }) => conversation).values()]
}

function ascending(a: number, b: number): number {
  return a - b
}
