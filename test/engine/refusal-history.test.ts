import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRefusalHistory } from '../../src/engine/refusal-history.ts'
import { openStore } from '../runtime/support/store.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const START = Date.parse('2026-11-29T10:00:00Z')

test('refused deliveries are counted over time, over restarts and for all daemons', async (t) => {
  const { kv } = await openStore(t)
  let time = START + 5 * MINUTE
  const daemon = () => createRefusalHistory({ kv, now: () => time })
  const [one, other] = [daemon(), daemon()]
  for (let n = 0; n < 3; n++) one.add('shop')
  one.add('constructor')
  time = START + HOUR + 10 * MINUTE
  one.add('shop')
  other.add('shop')
  await Promise.all([one.flush(), other.flush()])
  // What is not stored yet is counted too.
  other.add('shop')
  const inHalfHours = { from: START, width: HOUR / 2, spans: 4 }
  assert.deepEqual(await other.counts('shop', inHalfHours), [3, 0, 3, 0])
  assert.deepEqual(await daemon().counts('shop', inHalfHours), [3, 0, 3, 0])
  assert.deepEqual(await daemon().counts('constructor', inHalfHours), [1, 0, 0, 0])
  assert.deepEqual(await daemon().counts('desk', inHalfHours), [0, 0, 0, 0])
  const later = { from: START + 70 * MINUTE, width: MINUTE, spans: 2 }
  assert.deepEqual(await daemon().counts('shop', later), [3, 0])
})
