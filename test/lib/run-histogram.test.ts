import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addDuration, addDurations, noDurations, quantile } from '../../src/lib/run-histogram.ts'

test('a quantile lies in a bucket with runs, from the shortest run to the longest', () => {
  const { durations } = noDurations()
  assert.equal(quantile({ durations }, 0.5), undefined)
  durations[7] = 1
  assert.deepEqual(
    [0, 0.5, 1].map((part) => quantile({ durations }, part)),
    [100, 150, 200],
  )
})

test('an estimate is at most 10 % off', () => {
  for (let ms = 1; ms < 86_400_000; ms = Math.ceil(ms * 1.03)) {
    const histogram = noDurations()
    addDuration(histogram, ms)
    for (const part of [0, 0.5, 1]) {
      const found = Number(quantile(histogram, part))
      assert.ok(Math.abs(found - ms) <= 0.1 * ms, `${found} for ${ms}`)
    }
  }
})

test('buckets that an earlier version counted add up with newer ones', () => {
  const newer = noDurations()
  for (let run = 0; run < 10; run++) addDuration(newer, 4_060)
  const old = noDurations().durations
  old[11] = 10
  const sum = addDurations({ durations: old }, newer)
  assert.equal(sum.durations[11], 20)
  assert.ok(Math.abs(Number(quantile(sum, 0.5)) - 4_060) < 100)
  addDuration(sum, 40_000)
  assert.ok(Math.abs(Number(quantile(sum, 1)) - 40_000) < 2_000)
})

test('an estimate is never more than the longest run, also of added histograms', () => {
  const first = noDurations()
  for (const ms of [4_010, 4_030, 4_060]) addDuration(first, ms)
  assert.equal(quantile(first, 1), 4_060)
  const second = noDurations()
  addDuration(second, 12_200)
  for (const sum of [addDurations(first, second), addDurations(second, first)])
    assert.equal(quantile(sum, 1), 12_200)
  assert.equal(quantile(addDurations(noDurations(), first), 1), 4_060)
})

test('the longest run is unknown if some runs were counted by an earlier version', () => {
  const { durations, parts } = noDurations()
  durations[12] = 1
  const newer = noDurations()
  addDuration(newer, 4_060)
  const sum = addDurations({ durations, parts }, newer)
  assert.equal(sum.longest, undefined)
  addDuration(sum, 4_060)
  assert.equal(sum.longest, undefined)
  assert.ok(Number(quantile(sum, 1)) > 4_100)
})
