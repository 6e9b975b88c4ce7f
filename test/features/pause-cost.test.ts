import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scheduleSchema } from '../../src/core/schedule.ts'
import { createPauseCosts, pauseCost } from '../../src/features/schedules/pause-cost.ts'
import { skippedInWords } from '../../src/lib/skipped-in-words.ts'

const HOUR = 3_600_000
const at = (hour: number, day = 1) => Date.UTC(2026, 10, day, hour)
const daily = scheduleSchema.parse({
  id: 'report',
  name: 'report',
  cron: '0 16 * * *',
  timezone: 'UTC',
  misfire: 'once',
  skill: 'report',
  args: {},
  channel: 'routes.yaml',
  created: '2026-10-01T00:00:00Z',
})
const words = (cost: Parameters<typeof skippedInWords>[0]) =>
  skippedInWords(cost, (time) => new Date(time).toISOString().slice(5, 16))

test('a pause that ends before the next planned time skips none, and the next run is known', () => {
  const cost = pauseCost(daily, { since: at(9), until: at(10) }, at(9))
  assert.deepEqual(cost, { skipped: 0, toSkip: 0, nextRun: at(16) })
  assert.equal(words(cost), 'No planned time is skipped. The next run is at 11-01T16:00.')
})

test('a pause skips the planned times until its end, which counts', () => {
  const cost = pauseCost(daily, { since: at(9), until: at(16) }, at(9))
  assert.deepEqual(cost, { skipped: 0, toSkip: 1, nextSkipped: at(16), nextRun: at(16, 2) })
  assert.equal(words(cost), 'The planned time 11-01T16:00 is skipped. The next run is at 11-02T16:00.')
  const longer = pauseCost(daily, { since: at(9), until: at(9, 4) }, at(9, 2))
  assert.deepEqual(longer, { skipped: 1, toSkip: 2, nextSkipped: at(16, 2), nextRun: at(16, 4) })
  assert.match(words(longer), /^2 planned times are skipped, the first at 11-02T16:00\. The next run/)
  assert.match(words({ ...longer, isMore: true }), /^At least 2 planned times/)
})

test('a pause without an end names the first planned time that it skips', () => {
  const cost = pauseCost(daily, { since: at(9) }, at(9) + HOUR)
  assert.deepEqual(cost, { skipped: 0, nextSkipped: at(16) })
  assert.equal(words(cost), 'Planned times are skipped until it is resumed, the first at 11-01T16:00.')
})

test('a pause that skips more planned times than are counted says so', () => {
  const { cron: _, ...rest } = daily
  const often = scheduleSchema.parse({ ...rest, every: 60_000 })
  const cost = pauseCost(often, { since: at(0), until: at(0, 9) }, at(0, 5))
  assert.partialDeepStrictEqual(cost, { skipped: 100, skippedMore: true, toSkip: 100, isMore: true })
  assert.match(words(cost), /^At least 100 planned times are skipped/)
})

test('exactly as many planned times as are counted are not more', () => {
  const { cron: _, ...rest } = daily
  const hourly = scheduleSchema.parse({ ...rest, every: HOUR })
  const cost = pauseCost(hourly, { since: at(0), until: at(100) }, at(0))
  assert.deepEqual(cost, { skipped: 0, toSkip: 100, nextSkipped: at(1), nextRun: at(101) })
})

test('the cost of a pause is counted again only after a planned time, or if the clock is set back', () => {
  const counted: number[] = []
  const costOf = createPauseCosts((schedule, pause, now) => {
    counted.push(now)
    return pauseCost(schedule, pause, now)
  })
  const pause = { since: at(9), until: at(9, 4) }
  const shown = [at(10), at(12), at(16) - 1, at(16), at(17), at(11)].map((now) => costOf(daily, pause, now))
  assert.deepEqual(counted, [at(10), at(16), at(11)])
  assert.deepEqual(
    shown.map(({ skipped }) => skipped),
    [0, 0, 0, 1, 1, 0],
  )
  costOf(daily, { since: at(9) }, at(12))
  assert.equal(counted.length, 4, 'a changed pause has another cost')
})
