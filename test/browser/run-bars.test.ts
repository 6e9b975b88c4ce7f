import assert from 'node:assert/strict'
import { test } from 'node:test'

const { barsOf } = await import(new URL('../../src/console/lib/run-bars.js', import.meta.url).href)

const MINUTE = 60_000
const now = Date.parse('2026-11-28T12:02:00Z')
/** One run in each slot of five minutes of the last day. */
const slots = Array.from({ length: 288 }, (_, index) => ({
  at: Math.floor(now / (5 * MINUTE)) * 5 * MINUTE - index * 5 * MINUTE,
  runs: 1,
  failed: 0,
}))

for (const [since, number, runs] of [
  ['15m', 3, 1],
  ['1h', 12, 1],
  ['2h', 24, 1],
  ['6h', 36, 2],
  ['24h', 48, 6],
  ['2026-11-28T06:02:00Z', 36, 2],
] as const)
  test(`steady load since ${since} has ${number} bars of the same height`, () => {
    const { bars } = barsOf(slots, { since }, now)
    assert.deepEqual(
      bars.map((bar: { runs: number }) => bar.runs),
      Array(number).fill(runs),
    )
  })
