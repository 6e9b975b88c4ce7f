import assert from 'node:assert/strict'
import { test } from 'node:test'

const { barsOf, runChart } = await import(new URL('../../src/console/lib/run-bars.js', import.meta.url).href)

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

type Bar = { name: string; runs: number; failed: number }
const week = { from: '2026-11-21', to: '2026-11-28' }

test('runs of one day before the last 24 hours have a chart with a bar per day of the range', () => {
  const usage = { ...week, runs: 12, days: [{ day: '2026-11-24', runs: 12, failed: 2 }], slots: [] }
  const { title, bars, last } = runChart(usage, { since: '7d' }, now)
  assert.equal(title, 'Runs a day')
  assert.deepEqual(
    bars.map(({ name, runs }: Bar) => `${name.slice(-2)}: ${runs}`),
    ['21: 0', '22: 0', '23: 0', '24: 12', '25: 0', '26: 0', '27: 0', '28: 0'],
  )
  assert.equal(last, '2026-11-28')
})

test('a past range of hours has the bar of its day', () => {
  const days = [{ day: '2026-11-25', runs: 3, failed: 0 }]
  const range = { since: '2026-11-25T08:00:00Z', until: '2026-11-25T20:00:00Z' }
  const chart = runChart({ from: '2026-11-25', to: '2026-11-25', runs: 3, days, slots: [] }, range, now)
  assert.deepEqual(chart.bars, [{ name: '2026-11-25', runs: 3, failed: 0 }])
})

test('a range of a month begins with the days whose runs are counted', () => {
  const days = [{ day: '2026-11-24', runs: 12, failed: 2 }]
  const { bars } = runChart({ from: '2026-10-29', to: '2026-11-28', runs: 12, days, slots: [] }, {}, now)
  assert.deepEqual([bars.length, bars[0].name], [8, '2026-11-21'])
})

test('runs of a week that are all within the last 24 hours have the chart of these hours', () => {
  const days = [
    { day: '2026-11-27', runs: 144, failed: 0 },
    { day: '2026-11-28', runs: 144, failed: 0 },
  ]
  const { title, bars } = runChart({ ...week, runs: 288, days, slots }, { since: '7d' }, now)
  assert.equal(title, 'Runs, all of them in the last 24 hours')
  assert.equal(bars.length, 48)
})

test('24 hours that ended earlier are not called the last 24 hours', () => {
  const until = '2026-11-28T12:00:00Z'
  const usage = { from: '2026-11-27T12:00Z', to: '2026-11-28T12:00Z', runs: 288, days: [], slots }
  assert.equal(runChart(usage, { since: '24h', until }, now).title, 'Runs over time')
})

test('bars have exact times if each run is known, else estimated ones', () => {
  const durations = [...Array(13).fill(0), 4]
  const days = [{ day: '2026-11-24', runs: 4, failed: 0, durations }]
  const at = Date.parse('2026-11-24T12:00:00Z')
  const times = [11_000, 12_000, 12_100, 12_400].map((ms) => ({ at, ms }))
  const of = (more: object) => runChart({ ...week, runs: 4, days, slots: [], ...more }, {}, now)
  assert.partialDeepStrictEqual(of({ times }), { isExact: true })
  assert.partialDeepStrictEqual(of({ times }).bars[3], { name: '2026-11-24', p50: 12_000, p95: 12_400 })
  assert.equal(of({}).isExact, false)
  const { p50, p95 } = of({}).bars[3]
  assert.ok(p50 > 10_000 && p95 <= 20_000, `${p50} and ${p95}`)
})
