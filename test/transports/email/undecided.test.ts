import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createCursorStore } from '../../../transports/email/inbound/cursor.ts'
import type { Ingested } from '../../../transports/email/inbound/ingest.ts'
import { createRetries, passBatch } from '../../../transports/email/inbound/undecided.ts'
import { createMemoryStore } from '../../fixtures/memory-store.ts'

const CURSOR = { uidValidity: '7', uid: 10, newest: 500, floor: 0 }

/** A batch of mails from UID 11 on, with what became of each. */
function batchOf(outcomes: Ingested['outcome'][], from = 11) {
  const uids = outcomes.map((_, at) => from + at)
  const incoming = uids.map((uid) => ({
    uid,
    folder: 'INBOX',
    size: 1,
    internalDate: 600,
    parse: () => Promise.reject(new Error('not parsed here')),
    open: () => Buffer.alloc(0),
    hash: async () => '',
  }))
  const results = outcomes.map((outcome, at) => ({
    outcome,
    key: outcome === 'undecided' ? '' : `key ${from + at}`,
  }))
  return { batch: { uids, newest: 600, incoming }, results }
}

describe('the cursor behind a batch', () => {
  const limits = { most: 3, now: 1000 }

  test('notes what is undecided, and since when, and passes it', () => {
    const { batch, results } = batchOf(['accepted', 'undecided', 'refused'])
    const before = { ...CURSOR, undecided: [{ uid: 4, since: 900 }] }
    const next = passBatch(before, batch, results, limits)
    assert.deepEqual(next.cursor, {
      ...CURSOR,
      ...{ uid: 13, newest: 600 },
      undecided: [
        { uid: 4, since: 900 },
        { uid: 12, since: 1000 },
      ],
    })
    assert.deepEqual([next.keys, next.full], [['key 11', 'key 13'], false])
  })

  test('forgets what was decided, keeps since when the others wait, and never goes back', () => {
    const { batch, results } = batchOf(['accepted', 'undecided'], 4)
    const undecided = [
      { uid: 4, since: 900 },
      { uid: 5, since: 901 },
    ]
    const next = passBatch({ ...CURSOR, undecided }, batch, results, limits)
    assert.deepEqual([next.cursor.uid, next.cursor.undecided], [10, [{ uid: 5, since: 901 }]])
  })

  test('stops before a mail for which there is no room, so that it is offered again', () => {
    const { batch, results } = batchOf(['undecided', 'undecided', 'accepted', 'undecided', 'accepted'])
    const undecided = [{ uid: 4, since: 900 }]
    const next = passBatch({ ...CURSOR, undecided }, batch, results, limits)
    assert.equal(next.full, true)
    assert.equal(next.cursor.uid, 13)
    assert.deepEqual(
      next.cursor.undecided.map(({ uid }) => uid),
      [4, 11, 12],
    )
    assert.deepEqual(next.keys, ['key 13'])
  })
})

describe('mails that were set aside', () => {
  const MINUTE = 60_000

  test('are tried after 15, 30 and 60 seconds, then each minute, and when the five minutes are over', () => {
    let time = 0
    const retries = createRetries(5 * MINUTE, () => time)
    const undecided = [{ uid: 4, since: 0 }]
    retries.tried(undecided, new Set([4]))
    const seconds: number[] = []
    while (time < 6 * MINUTE) {
      assert.deepEqual(retries.due(undecided), [])
      time += retries.pause(undecided)
      seconds.push(time / 1000)
      assert.deepEqual(retries.due(undecided), [4])
      retries.tried(undecided, new Set([4]))
    }
    assert.deepEqual(seconds, [15, 45, 105, 165, 225, 285, 300, 360])
  })

  test('are due at once on another connection, and none is waited for where there is none', () => {
    const retries = createRetries(5 * MINUTE, () => 1000)
    assert.deepEqual(retries.due([{ uid: 4, since: 900 }]), [4])
    assert.equal(retries.pause([]), Number.POSITIVE_INFINITY)
  })

  test('survive on the store, and a cursor of an earlier version has none', async () => {
    const { kv } = createMemoryStore()
    const store = () => createCursorStore(kv, 'support', 'INBOX', 1)
    const { uidValidity, uid, newest, floor } = CURSOR
    const key = 'email/support/cursor/INBOX'
    await kv.set(key, { uidValidity, uid, newest, floor, index: 0, token: 1 })
    const old = store()
    assert.deepEqual(await old.load(), { ...CURSOR, undecided: [] })
    const cursor = { ...CURSOR, undecided: [{ uid: 4, since: 900 }] }
    await old.save(cursor, [])
    assert.deepEqual(await store().load(), cursor)
  })
})
