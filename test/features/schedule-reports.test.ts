import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createLateness } from '../../src/features/schedules/lateness.ts'
import { createRunReports } from '../../src/features/schedules/run-reports.ts'
import { createMemoryBackend, type StateEntry } from '../../src/runtime/state/backends.ts'

const SCHEDULE = { id: 'nightly', created: '2026-01-01T00:00:00.000Z' }

describe('the last run of a schedule', () => {
  test('keeps the start of its first attempt, and ignores the end of an earlier run', async () => {
    let time = 1_000
    const kv = createMemoryBackend(Date.now, new Map<string, StateEntry>())
    const reports = createRunReports(kv, () => time)
    assert.equal(await reports.read(SCHEDULE), undefined)
    await reports.report(SCHEDULE, { planned: 400, outcome: 'running' })
    assert.deepEqual(await reports.read(SCHEDULE), { planned: 400, startedAt: 1_000, outcome: 'running' })
    time = 2_000
    await reports.report(SCHEDULE, { planned: 400, outcome: 'retrying' })
    time = 3_000
    await reports.report(SCHEDULE, { planned: 300, outcome: 'done' })
    await reports.report(SCHEDULE, { planned: 400, outcome: 'done' })
    const done = { planned: 400, startedAt: 1_000, endedAt: 3_000, outcome: 'done' }
    assert.deepEqual(await reports.read(SCHEDULE), done)
    await reports.forget(SCHEDULE)
    assert.equal(await reports.read(SCHEDULE), undefined)
  })

  test('is listed with those before it, and with the error of a failed one', async () => {
    let time = 1_000
    const kv = createMemoryBackend(Date.now, new Map<string, StateEntry>())
    const reports = createRunReports(kv, () => time)
    await reports.report(SCHEDULE, { planned: 100, outcome: 'running' })
    await reports.report(SCHEDULE, { planned: 100, outcome: 'failed', error: 'no disk' })
    time = 2_000
    await reports.report(SCHEDULE, { planned: 2_000, outcome: 'done', manual: true })
    assert.deepEqual(await reports.readRuns(SCHEDULE), [
      { planned: 2_000, startedAt: 2_000, endedAt: 2_000, outcome: 'done', manual: true },
      { planned: 100, startedAt: 1_000, endedAt: 1_000, outcome: 'failed', error: 'no disk' },
    ])
  })
  test('has the beginning of its result, which only the newest ten keep', async () => {
    const kv = createMemoryBackend(Date.now, new Map<string, StateEntry>())
    const reports = createRunReports(kv, () => 1_000)
    for (let planned = 1; planned <= 12; planned++)
      await reports.report(SCHEDULE, { planned, outcome: 'done', result: `${planned}`.padEnd(2_010, '.') })
    const results = (await reports.readRuns(SCHEDULE)).map(({ result }) => result)
    assert.equal(results.length, 12)
    assert.match(results[0] ?? '', /^12\.+ \[10 characters omitted\]$/)
    assert.deepEqual(results.map((result) => result !== undefined).lastIndexOf(true), 9)
  })
})

describe('a run that begins late', () => {
  const MINUTE = 60_000
  const planned = 10 * MINUTE
  const make = (time: number, startedAt = 0) => {
    const kv = createMemoryBackend(Date.now, new Map<string, StateEntry>())
    const reports = createRunReports(kv, () => time)
    const lateness = createLateness({ startedAt, readRuns: reports.readRuns, now: () => time })
    return { reports, lateness, causeOf: () => lateness.of(SCHEDULE, 'a', planned) }
  }

  test('has the start of the daemon, the end of the run before it, or a pause as the cause', async () => {
    const now = planned + 47 * MINUTE
    const start = { cause: 'daemon_start', until: now - 2_000 }
    assert.deepEqual(await make(now, now - 2_000).causeOf(), start)
    const { reports, causeOf } = make(now)
    assert.equal(await causeOf(), undefined)
    await reports.report(SCHEDULE, { planned: planned - MINUTE, outcome: 'done' })
    assert.deepEqual(await causeOf(), { cause: 'previous_run', until: now })
    const paused = make(now)
    paused.lateness.held('a')
    assert.deepEqual(await paused.causeOf(), { cause: 'skill_paused', until: now })
    assert.equal(await make(planned + 2_000, planned + 1_000).causeOf(), undefined, 'in time')
  })

  test('keeps the cause until its end', async () => {
    const { reports } = make(planned + 47 * MINUTE)
    const lateBecause = { cause: 'daemon_start' as const, until: planned + 46 * MINUTE }
    await reports.report(SCHEDULE, { planned, outcome: 'running', lateBecause })
    await reports.report(SCHEDULE, { planned, outcome: 'done' })
    assert.deepEqual((await reports.read(SCHEDULE))?.lateBecause, lateBecause)
  })
})
