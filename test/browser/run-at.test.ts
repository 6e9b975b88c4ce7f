import assert from 'node:assert/strict'
import { test } from 'node:test'

const { runAt } = await import(new URL('../../src/console/lib/run-at.js', import.meta.url).href)

/** One run per second, each of 100 ms, newest first. The newest one has not ended. */
const runs = [
  { startedAt: 3_000 },
  { startedAt: 2_000, endedAt: 2_100 },
  { startedAt: 1_000, endedAt: 1_100 },
]

for (const [at, expected] of [
  [2_000, 2_000],
  [1_010, 1_000],
  [1_105, 1_000],
  [2_050, 2_000],
  [60_000, 3_000],
  [-1_500, undefined],
])
  test(`the run of a schedule at ${at} ms`, () => {
    assert.equal(runAt(runs, at)?.startedAt, expected)
  })
