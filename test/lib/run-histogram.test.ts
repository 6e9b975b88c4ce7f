import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addDuration, noDurations, quantile } from '../../src/lib/run-histogram.ts'

test('a quantile lies in a bucket with runs, from the shortest run to the longest', () => {
  const buckets = noDurations()
  assert.equal(quantile(buckets, 0.5), undefined)
  addDuration(buckets, 150)
  assert.deepEqual(
    [0, 0.5, 1].map((part) => quantile(buckets, part)),
    [100, 150, 200],
  )
})
