import assert from 'node:assert/strict'
import { test } from 'node:test'
import { humanAudit } from '../../src/features/audit/print.ts'

const REASON = 'the photo shows another pan, and its number is not the one of the order'
const entry = {
  at: Date.UTC(2026, 10, 29, 12, 4),
  by: 'oidc:ingrid@kitchen.example',
  via: 'console',
  action: 'approval-decide',
  outcome: 'ok',
  status: 'done',
  target: { id: '01a21eba-7990-7000-8000-000474f57ee7', status: 'denied' },
  reason: REASON,
}
const titles = { [entry.target.id]: 'Refund 412.00 EUR for order 4711' }

test('a decision and its reason are never cut, however narrow the terminal is', (t) => {
  const { columns } = process.stdout
  t.after(() => {
    process.stdout.columns = columns
  })
  for (const width of [48, 80, 140]) {
    process.stdout.columns = width
    const text = humanAudit({ entries: [entry], titles }, {})
    assert.match(text, / denied(\s|$)/m, `at ${width}`)
    assert.ok(text.replaceAll(/\s+/g, ' ').includes(REASON), `at ${width}:\n${text}`)
    assert.ok(
      text.split('\n').every((line) => line.length <= width),
      `at ${width}:\n${text}`,
    )
  }
})
