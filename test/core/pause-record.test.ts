import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changedPause, newPause, withStartOf } from '../../src/core/pause-record.ts'
import { HOUR } from '../../src/core/units.ts'
import { callFrom } from '../features/kit.ts'

test('a pause keeps the start of one that its author changes, but not of one that was over', () => {
  const before = { since: 1_000, by: 'ada', until: 2_000 }
  assert.equal(withStartOf(before, { since: 1_500, by: 'ada' }).since, 1_000)
  assert.equal(withStartOf(before, { since: 5_000, by: 'ada' }).since, 5_000)
  assert.equal(withStartOf(before, { since: 1_500, by: 'bob' }).since, 1_500)
})

test('a pause ends at a whole second, as the time that is left until 9:00 arrives a little later', () => {
  const nine = Date.UTC(2026, 10, 30, 9)
  const endOf = (left: number, late: number) => newPause(callFrom(), { for: left }, nine - left + late).until
  assert.equal(endOf(HOUR, 420), nine)
  assert.equal(endOf(HOUR + 657, -157), nine)
  // Nobody names the time at which so short a pause ends.
  assert.equal(endOf(1_500, 420), nine + 420)
})

test('a pause that another person changes keeps its author, start and reason, and adds the change', () => {
  const before = { since: 1_000, by: 'ada', reason: 'wrong tax' }
  const change = { since: 2_000, by: 'bob', until: 9_000 }
  const changed = { ...before, until: 9_000, changedBy: 'bob', changedAt: 2_000 }
  assert.deepEqual(changedPause(before, change), changed)
  assert.deepEqual(changedPause(before, { ...change, reason: 'wrong tax' }), changed)
  const withReason = { ...changed, changedReason: 'needs longer' }
  assert.deepEqual(changedPause(before, { ...change, reason: 'needs longer' }), withReason)
  assert.deepEqual(changedPause(withReason, change), withReason)
  const third = changedPause(withReason, { since: 3_000, by: 'eve' })
  assert.deepEqual(third, { ...before, changedBy: 'eve', changedAt: 3_000 })
  const own = changedPause(withReason, { since: 3_000, by: 'ada' })
  assert.deepEqual(own, before)
  assert.equal(changedPause({ ...before, until: 1_500 }, change).by, 'bob')
})
