import assert from 'node:assert/strict'
import { test } from 'node:test'
import { replayedText } from '../../src/lib/replayed-text.ts'
import { scheduledRun, scheduledRunText } from '../../src/lib/scheduled-run.ts'

test('the numbers of a replay add up to its range, and those that are 0 are left out', () => {
  const result = { events: 67, unread: 1, queued: 10, filtered: 415, gone: 7 }
  assert.equal(
    replayedText(result, { isPush: true }),
    '67 of 500 events handed to the push; left out: 415 by its filter, 1 that was not read yet, 10 that waited for an attempt already, 7 no longer stored',
  )
  assert.equal(replayedText({ events: 1, unread: 0 }, { isPush: false }), '1 event replayed')
  assert.equal(replayedText({}, { isPush: false }), undefined)
})

test('a run of a schedule is named by the schedule and its time, whatever its id contains', () => {
  const created = '2026-11-29T15:33:26.552Z'
  const planned = { queue: 'schedules', id: `ledger:eu:${created}:${Date.UTC(2026, 10, 30, 7, 57)}` }
  assert.equal(scheduledRunText(planned), 'ledger:eu, planned 2026-11-30 07:57 UTC')
  const byHand = { queue: 'schedules', id: `ledger:${created}:run:a:b` }
  assert.equal(scheduledRunText(byHand), 'ledger, started by hand')
  assert.equal(scheduledRun({ ...planned, queue: 'outbox' }), undefined)
  assert.equal(scheduledRun({ queue: 'schedules', id: 'other' }), undefined)
})
