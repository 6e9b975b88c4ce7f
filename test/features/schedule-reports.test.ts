import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
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
