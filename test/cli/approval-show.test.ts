import assert from 'node:assert/strict'
import { test } from 'node:test'
import { humanResult } from '../../src/cli/skill-output.ts'
import { budgetLine } from '../../src/lib/budget-lines.ts'
import { wholeText } from '../../src/lib/printed.ts'

const now = Date.now()
const request = {
  id: '31dc972c',
  skill: 'refund',
  route: 'refunds',
  title: 'Refund 64.50 EUR',
  by: 'support:luca@example.com',
  approvers: [],
  timeout: 86_400_000,
  onTimeout: 'deny',
  requestedAt: now - 60_000,
  expiresAt: now + 86_400_000,
  message: { id: 'm1', gateway: 'support', conversation: 'c1' },
  args: { text: 'Hello,\n\nit leaks.', amount: 64.5 },
}
const show = (approval: object) =>
  wholeText(humanResult('approval-list', [{ ...request, ...approval }], { id: request.id }, true))

test('approval show says what is asked for, until when, and how to decide', () => {
  const text = show({ status: 'pending' })
  assert.match(text, /^Refund 64\.50 EUR {2}pending\n/)
  assert.match(text, /^calls\s+the skill refund, by the route refunds$/m)
  assert.match(text, /^expires\s+20\S+ \d\d:\d\d:\d\d UTC \(in \d+ (h|d)\), then it is denied$/m)
  assert.match(text, /^text\n {2}Hello,\n\n {2}it leaks\.\namount {2}64\.5$/m)
  assert.match(text, /message show m1`[\s\S]*approval decide 31dc972c --approve/)
  assert.doesNotMatch(text, /86400000|\{/)
})

test('approval show says who decided, when and why, and how the run ended', () => {
  const decided = { decidedAt: now, decidedBy: 'control-token:Ada', decidedVia: 'console' }
  const denied = show({ status: 'denied', ...decided, reason: 'no photo' })
  assert.match(denied, /^Refund 64\.50 EUR {2}denied\n/)
  assert.match(denied, /^decided\s+by Ada \(console\), 20.* UTC \(\d+ s ago\)$/m)
  assert.match(denied, /^reason\s+no photo$/m)
  const run = { at: now, ms: 90_000, code: 'skill_failed', error: 'the bank is closed' }
  const failed = show({ status: 'approved', ...decided, run })
  assert.match(failed, /^run\s+failed with skill_failed 20.* took 90 s: the bank is closed$/m)
})

test('approval show has the text that was posted in the conversation', () => {
  const posted = { at: now, state: 'sent', text: 'Refund 64.50 EUR\n\nRequested by: luca' }
  const text = show({ status: 'pending', posted })
  assert.match(
    text,
    /^Posted in its conversation: sent 20.* ago\)\n {2}Refund 64\.50 EUR\n\n {2}Requested by: luca$/m,
  )
})

test('the sender or the skill that gets a denial is shown with the request and its decision', () => {
  const skill = { reasonGoesTo: 'skill', calledBy: 'helpdesk' }
  const isShown = /^denial goes to\s+the skill helpdesk, which answers the sender$/m
  assert.match(show({ status: 'pending', ...skill }), isShown)
  assert.doesNotMatch(show({ status: 'approved', ...skill }), /denial/)
  const decided = (result: object) => humanResult('approval-decide', { ...request, ...result }, {}, true)
  const said = wholeText(decided({ status: 'denied', ...skill }))
  assert.match(said, /The denial and its reason go to the skill helpdesk, which answers the sender\./)
  const own = wholeText(decided({ status: 'denied', reasonGoesTo: 'sender' }))
  assert.match(own, /The denial and its reason go to the sender\./)
})

test('the arguments in the list of approvals are words', () => {
  const text = wholeText(humanResult('approval-list', [{ ...request, status: 'pending' }], {}, true))
  assert.match(text, /text: Hello, it leaks\., amount: 64\.5$/m)
})

test('times of budgets are written as everywhere else', () => {
  const resetsAt = Date.parse('2026-12-29T21:00:00Z')
  const line = budgetLine({
    budget: 'total',
    limit: '25 EUR/30d',
    unit: 'EUR',
    used: 2,
    most: 25,
    left: 23,
    resetsAt,
  })
  assert.match(line, /all of it is free again by 2026-12-29 21:00 UTC$/)
})
