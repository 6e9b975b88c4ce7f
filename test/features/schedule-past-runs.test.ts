import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOUR, MINUTE } from '../../src/core/units.ts'
import { pastRuns } from '../../src/features/schedules/past-runs.ts'

const schedule = {
  id: 'report',
  name: 'report',
  cron: '0 23 * * *',
  timezone: 'UTC',
  misfire: 'once' as const,
  skill: 'report',
  args: {},
  channel: 'routes.yaml',
  created: '2026-11-20T00:00:00.000Z',
}
const at = (day: number, hour: number, minute = 0) => Date.UTC(2026, 10, day, hour, minute)
const run = (startedAt: number, code?: string) => ({
  ...{ at: startedAt + MINUTE, ms: MINUTE, by: 'schedule report' },
  ...(code !== undefined && { code }),
})

test('each known run of a schedule has its planned time, and none if a person started it', () => {
  const runs = [run(at(28, 23, 47)), run(at(28, 9)), run(at(27, 23, 30)), run(at(27, 23), 'skill_failed')]
  const newest = { planned: at(29, 23), startedAt: at(29, 23), outcome: 'running' as const }
  const other = { ...run(at(26, 23)), by: 'schedule other' }
  assert.deepEqual(
    pastRuns(schedule, [...runs, other], [newest]).map(({ planned, startedAt, outcome }) => [
      planned === undefined ? 'by hand' : startedAt - planned,
      outcome,
    ]),
    [
      [0, 'running'],
      [47 * MINUTE, 'done'],
      ['by hand', 'done'],
      ['by hand', 'done'],
      [0, 'failed'],
    ],
  )
})

test('the newest run is listed once, and times before the schedule was created are not planned ones', () => {
  const newest = {
    planned: at(20, 23),
    startedAt: at(20, 23),
    endedAt: at(20, 23, 1),
    outcome: 'done' as const,
  }
  assert.deepEqual(pastRuns(schedule, [run(at(20, 23))], [newest]), [newest])
  const [first] = pastRuns(schedule, [run(Date.parse(schedule.created) + HOUR / 2)], [])
  assert.equal(first?.planned, undefined)
})
