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
  const [shown, ...others] = pastRuns(schedule, [run(at(20, 23))], [newest])
  assert.partialDeepStrictEqual(shown, newest)
  assert.deepEqual(others, [])
  const [first] = pastRuns(schedule, [run(Date.parse(schedule.created) + HOUR / 2)], [])
  assert.equal(first?.planned, undefined)
})

test('a run has an id, the same in each list; one that somebody started has who did so, and a failed one its dead letter', () => {
  const planned = { planned: at(29, 23), startedAt: at(29, 23), outcome: 'failed' as const, error: 'no disk' }
  const byHand = {
    ...planned,
    planned: at(29, 9),
    startedAt: at(29, 9),
    manual: true,
    key: 'k-1',
    by: 'ada',
  } as const
  const list = () => pastRuns(schedule, [run(at(20, 23))], [planned, byHand])
  const [first, second, third] = list()
  const ids = list().map(({ id }) => id)
  assert.deepEqual(
    [first, second, third].map((one) => one?.id),
    ids,
  )
  assert.equal(new Set(ids).size, 3)
  for (const id of ids) assert.match(id, /^[0-9a-f]{8}$/)
  assert.equal(first?.letter, `report:${schedule.created}:${at(29, 23)}`)
  assert.equal(second?.letter, `report:${schedule.created}:run:k-1`)
  assert.deepEqual([second?.by, second?.planned], ['ada', undefined])
})
