import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../src/core/json.ts'
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

test('at 80 columns the action, the outcome and the object are whole', (t) => {
  const { columns } = process.stdout
  t.after(() => {
    process.stdout.columns = columns
  })
  process.stdout.columns = 80
  const refused = {
    ...entry,
    action: 'gateway-pause',
    outcome: 'gateway_not_running',
    status: 'failed',
    target: { gateway: 'payments-of-the-shop' },
    reason: 'the secret was replaced',
    error: 'The gateway payments-of-the-shop does not run.',
  }
  const text = humanAudit({ entries: [entry, refused], titles }, {})
  assert.match(text, / approval-decide +denied\n {2}Refund 412.00 EUR for order 4711\n {2}reason: /)
  assert.match(text, / gateway-pause +gateway_not_running\n {2}gateway payments-of-the-shop; The gateway/)
  const { reason: _, error: __, ...done } = refused
  const short = { ...done, outcome: 'ok', status: 'done' }
  assert.match(humanAudit({ entries: [short] }, {}), / gateway-pause +ok +gateway payments/)
})

test('an action on everything, or on a person, says what it did', () => {
  const { reason: _, ...done } = entry
  const did = (action: string, target: JsonObject, result: JsonObject) =>
    humanAudit({ entries: [{ ...done, action, target, result }] }, {})
  assert.match(did('person-erase', {}, { job: 'j1' }), /person-erase +ok +job j1/)
  assert.match(did('dead-letter-retry', { all: true }, { count: 7 }), /ok +count 7/)
})
