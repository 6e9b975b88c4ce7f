import assert from 'node:assert/strict'
import { positionOf, timeOf } from '../../src/core/message-id.ts'
import type { CrashRun } from './crash-run.ts'
import { CONSUMED_AT_ONCE } from './readers.ts'

/** Assertions that must hold after any number of crashes, by their title. */
export const promises: Record<string, (run: CrashRun) => void> = {
  'the journal contains exactly the acknowledged messages'({ promised, journal }) {
    assert.deepEqual(journal, promised.map(idOf).sort())
  },

  'a repeated delivery with the same key gets the id of the first, and makes no second message'({
    promised,
  }) {
    assert.deepEqual(
      promised.filter(({ ids }) => ids.size !== 1),
      [],
    )
  },

  'every acknowledged message was dispatched successfully'({ promised, dispatched }) {
    const done = new Set(dispatched)
    const missing = promised.filter((message) => !message.poison && !done.has(idOf(message)))
    assert.deepEqual(missing.map(idOf), [])
  },

  'messages of a conversation were dispatched in the order of the journal'({ promised, dispatched }) {
    const place = new Map<string, number>()
    for (const [index, id] of dispatched.entries()) if (!place.has(id)) place.set(id, index)
    // On `single` each message is a conversation of its own.
    for (const lane of lanesOf(promised.filter(({ gateway }) => gateway !== 'single'))) {
      const places = lane.filter(({ poison }) => !poison).map((message) => place.get(idOf(message)) ?? -1)
      assert.deepEqual(places, [...places].sort(ascending))
    }
  },

  'messages of a sender that waits for each answer are in the order in which it sent them'({ promised }) {
    // Clients of `chat` do not wait.
    for (const lane of lanesOf(promised.filter(({ gateway }) => gateway !== 'chat'))) {
      assert.deepEqual(
        lane.map(({ n }) => n),
        lane.map((_, index) => index),
      )
    }
  },

  'exactly the poison messages became dead letters'({ promised, deadLetters }) {
    assert.deepEqual(
      [...deadLetters].sort(),
      promised
        .filter(({ poison }) => poison)
        .map(idOf)
        .sort(),
    )
  },

  'takers that acknowledge received every message, and acknowledged none twice'({ promised, taken }) {
    const confirmed = taken.filter(({ isConfirmed }) => isConfirmed).map(({ id }) => id)
    assert.equal(new Set(confirmed).size, confirmed.length, 'a message was acknowledged twice')
    const received = new Set(taken.map(({ id }) => id))
    const missing = promised.filter((message) => message.gateway !== 'single' && !received.has(idOf(message)))
    assert.deepEqual(missing.map(idOf), [])
  },

  'a taker without leases got no message twice, and missed some only by interrupted calls'({
    promised,
    plain,
    crashes,
  }) {
    assert.equal(new Set(plain.seen).size, plain.seen.length)
    const expected = promised.filter(({ gateway }) => gateway === 'single').length
    // A daemon that dies soon after its Redis cannot return messages whose delivery failed.
    const interrupted = plain.cuts + crashes.both
    assert.ok(expected - plain.seen.length <= interrupted, `${expected} sent, ${plain.seen.length} taken`)
  },

  'a group that peeks and acknowledges saw each event in order, and none after its acknowledgement'({
    journal,
    groups,
    shards,
    tolerance,
  }) {
    const seen = [...new Set(groups.peek.seen)]
    if (shards === 1) assert.deepEqual(seen, journal)
    assert.deepEqual([...seen].sort(), journal)
    assert.deepEqual(lateOf(seen, tolerance), [])
    for (const ids of byShard(seen, shards)) assert.deepEqual(lateOf(ids, 0), [])
    assert.deepEqual(groups.peek.seenAfterAck, [])
  },

  'a group with leases saw each event'({ journal, groups }) {
    assert.deepEqual([...new Set(groups.lease.seen)].sort(), journal)
  },

  'a group that consumes saw events once and in order, and missed some only by interrupted calls'({
    journal,
    groups,
    crashes,
    daemons,
    tolerance,
  }) {
    const { seen, cuts } = groups.consume
    const interrupted = cuts + crashes.both
    assert.equal(new Set(seen).size, seen.length)
    // Another daemon may have read later events before one returns events whose delivery failed.
    const late = lateOf(seen, tolerance)
    const returned = (crashes.redis + crashes.network) * CONSUMED_AT_ONCE
    assert.ok(late.length <= (daemons > 1 ? returned : 0), `out of order: ${late}`)
    assert.ok(
      journal.length - seen.length <= interrupted * CONSUMED_AT_ONCE,
      `${seen.length} of ${journal.length}`,
    )
  },

  'no client got a reply twice or out of order, or an unexpected answer'({ complaints }) {
    assert.deepEqual(complaints, [])
  },
}

/**
 * Ids that follow an id that is newer by more than `tolerance` ms. With a tolerance of 0: all that
 * follow a newer id, also of the same ms.
 */
function lateOf(ids: readonly string[], tolerance: number): string[] {
  let newest = ''
  return ids.filter((id) => {
    const isLate = id < newest && (tolerance === 0 || timeOf(id) < timeOf(newest) - tolerance)
    if (id > newest) newest = id
    return isLate
  })
}

/** The ids of each shard. */
function byShard(ids: readonly string[], shards: number): string[][] {
  return [...Map.groupBy(ids, (id) => (positionOf(id) ?? 0) % shards).values()]
}

/** The id; several if the promise of one id was broken. */
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
