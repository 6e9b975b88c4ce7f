import assert from 'node:assert/strict'
import { test } from 'node:test'
import { humanMessage } from '../../src/engine/print/message.ts'

test('message show has the message of a log line, also if the line has a field `text`', () => {
  const message = { id: 'a', gateway: 'cli', receivedAt: 0, text: 'export', data: {} }
  const logs = [{ at: 1_000, level: 'info', message: 'reading page 1', text: 'export ledger 2025-12' }]
  const shown = humanMessage({
    message,
    outcome: 'running',
    history: [],
    logs,
    events: [],
    receive: { state: 'none' },
  })
  assert.match(shown, /log +info +"reading page 1", "export ledger 2025-12"/)
})
