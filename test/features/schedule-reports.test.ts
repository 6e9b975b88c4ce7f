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
    await reports.report(SCHEDULE, 400, 'running')
    assert.deepEqual(await reports.read(SCHEDULE), { planned: 400, startedAt: 1_000, outcome: 'running' })
    time = 2_000
    await reports.report(SCHEDULE, 400, 'retrying')
    time = 3_000
    await reports.report(SCHEDULE, 300, 'done')
    await reports.report(SCHEDULE, 400, 'done')
    const done = { planned: 400, startedAt: 1_000, endedAt: 3_000, outcome: 'done' }
    assert.deepEqual(await reports.read(SCHEDULE), done)
    await reports.forget(SCHEDULE)
    assert.equal(await reports.read(SCHEDULE), undefined)
  })
})
