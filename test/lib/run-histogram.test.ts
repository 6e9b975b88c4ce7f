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
  for (let ms = 1; ms < 1_800_000; ms = Math.ceil(ms * 1.03)) {
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
