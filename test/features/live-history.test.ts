import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { StoreStats } from '../../src/core/store.ts'
import { DAY, HOUR, MINUTE } from '../../src/core/units.ts'
import { createHistory } from '../../src/features/live/history.ts'

const NO_COUNTS = { accepted: 0, done: 0, failed: 0, dead: 0, unrouted: 0, sent: 0, refused: 0, latency: [] }

/** A daemon that accepts one message a second, and whose backlog is `clock.waiting`. */
function daemonAt(start: number) {
  const clock = { at: start, waiting: 0 }
  const history = createHistory({
    now: () => clock.at,
    counts: async () => ({ ...NO_COUNTS, accepted: (clock.at - start) / 1_000 }),
    stats: async (): Promise<StoreStats> => ({
      dispatch: { unpumped: clock.waiting },
      receive: { ready: 0, leased: 0, lost: {} },
      journal: { messages: 0 },
      jobs: [],
    }),
  })
  const run = async (ms: number) => {
    for (const end = clock.at + ms; clock.at < end; clock.at += history.every) await history.sample()
  }
  return { clock, history, run }
}

describe('the history of a daemon', () => {
  test('has the finest points that exist for the whole range, and a week of it stays small', async () => {
    const start = Date.parse('2026-11-01T00:00:00Z')
    const { clock, history, run } = daemonAt(start)
    await run(30 * MINUTE)
    clock.waiting = 50
    await run(MINUTE)
    clock.waiting = 0
    await run(20 * MINUTE)
    assert.equal(history.range(start, clock.at).every, 5_000, 'no fine point is dropped yet')
    await run(20 * HOUR)
    const day = history.range(start, clock.at)
    assert.equal(day.every, 2 * MINUTE)
    const deepest = day.points.reduce((most, { waiting = 0 }) => Math.max(most, waiting), 0)
    assert.equal(deepest, 50, 'a coarse point has the longest backlog of its time')
    assert.ok(day.points.every(({ accepted }) => Math.abs(accepted - 1) < 0.05))
    await run(7 * DAY)
    const week = history.range(clock.at - 7 * DAY, clock.at)
    assert.equal(week.every, 15 * MINUTE)
    assert.ok(week.points.length > 600 && week.points.length < 1_600, `${week.points.length} points`)
    assert.ok(week.points.every(({ at }, index) => at > (week.points[index - 1]?.at ?? 0)))
    const hour = history.range(clock.at - 15 * MINUTE, clock.at)
    assert.equal(hour.every, 5_000)
    assert.ok(hour.points.length >= 179 && hour.points.length <= 181, `${hour.points.length} points`)
    assert.deepEqual(history.range(start - DAY, start - HOUR).points, [])
  })

  test('continues after the clock was set back', async () => {
    const { clock, history, run } = daemonAt(Date.parse('2026-11-01T12:00:00Z'))
    await run(10 * MINUTE)
    clock.at -= HOUR
    await run(10 * MINUTE)
    const { points } = history.range(clock.at - 10 * MINUTE, clock.at)
    assert.ok(points.length > 100)
  })
})
