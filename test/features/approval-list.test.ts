import assert from 'node:assert/strict'
import { test } from 'node:test'
import { printers } from '../../src/features/approvals/print.ts'
import { wholeText } from '../../src/lib/printed.ts'

const request = {
  id: 'a1',
  status: 'pending',
  requestedAt: 0,
  by: 'shop:ada',
  skill: 'refund',
  title: 'Refund 5',
}
const decision = { decidedBy: 'control-token:Ingrid Aune', decidedAt: Date.now() - 1_800_000 }

test('the list of approvals shows who decided when, and the reason', () => {
  const denied = { ...request, id: 'a2', status: 'denied', ...decision, reason: 'outside the 60 days' }
  const list = wholeText(printers['approval-list']?.([request, denied], {}) ?? '')
  assert.match(list, /status\s+deadline\s+decision\s+reason/)
  assert.match(list, /a2\s+1970\S+Z\s+Refund 5\s+denied\s+by Ingrid Aune 20\S+Z\s+outside the 60 days/)
})

test('the list of approvals begins with those that wait for a decision', () => {
  const denied = { ...request, id: 'a2', status: 'denied', ...decision }
  assert.match(wholeText(printers['approval-list']?.([denied, request], {}) ?? ''), /^id.*\na1\s.*\na2\s/)
})

test('the list of approvals has the deadlines of pending requests, in a pipe as times', () => {
  const pending = { ...request, expiresAt: 3_600_000, onTimeout: 'deny' }
  const list = wholeText(printers['approval-list']?.([pending], {}) ?? '')
  assert.match(list, /\tstatus\tdeadline\t.*\tasked by\t.*\n.*\tpending\t1970-01-01T01:00:00\.000Z\t/)
})
