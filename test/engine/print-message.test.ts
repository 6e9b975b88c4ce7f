import assert from 'node:assert/strict'
import { test } from 'node:test'
import { humanMessage } from '../../src/engine/print/message.ts'

test('the history of a message shows the date of entries of a later day', () => {
  const receivedAt = Date.parse('2026-11-28T23:59:00Z')
  const nextDay = receivedAt + 5 * 60_000
  const printed = humanMessage({
    message: { id: 'm1', text: 'hello', receivedAt },
    outcome: 'retrying',
    history: [
      { at: receivedAt, road: 'dispatch', what: 'queued', detail: {} },
      { at: nextDay, road: 'dispatch', what: 'failed', detail: {} },
    ],
    logs: [],
    pushes: [],
    receive: { until: nextDay },
    events: [],
  })
  assert.match(printed, /^23:59:00\.000 +dispatch +queued/m)
  assert.match(printed, /^2026-11-29 00:04:00\.000 +dispatch +failed/m)
  assert.match(printed, /until: 2026-11-29 00:04:00\.000/)
})
