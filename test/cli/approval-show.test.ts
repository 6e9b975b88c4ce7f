import assert from 'node:assert/strict'
import { test } from 'node:test'
import { humanResult } from '../../src/cli/skill-output.ts'
import { budgetLine } from '../../src/engine/print/budget-lines.ts'
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
  assert.match(text, /^calls\s+the skill refund, on the route refunds$/m)
  assert.match(text, /^expires\s+20\S+ \d\d:\d\d:\d\d UTC \(in \d+ (h|d)\), then it is denied$/m)
  assert.match(text, /^amount {2}64\.5\ntext\n {2}Hello,\n\n {2}it leaks\.$/m)
  assert.match(text, /^To approve it: `trivium approval decide 31dc972c --approve --reason TEXT`$/m)
  assert.match(text, /^To deny it: +`trivium approval decide 31dc972c --no-approve --reason TEXT`$/m)
  assert.match(text, /message show m1`/)
  assert.doesNotMatch(text, /86400000|\{/)
})

test('approval show says who decided, when and why, and how the run ended', () => {
  const decided = { decidedAt: now, decidedBy: 'control-token:Ada', decidedVia: 'console' }
  const denied = show({ status: 'denied', ...decided, reason: 'no photo' })
  assert.match(denied, /^Refund 64\.50 EUR {2}denied\n/)
  assert.match(denied, /^decided\s+by Ada \(console\), 20.* UTC \(\d+ (?:s|min) ago\)$/m)
  assert.match(denied, /^decision reason\s+no photo$/m)
  const run = { at: now, ms: 90_000, code: 'skill_failed', error: 'the bank is closed' }
  const failed = show({ status: 'approved', ...decided, run })
  assert.match(failed, /^run\s+failed with skill_failed 20.* took 90 s: the bank is closed$/m)
})

test('approval decide says whether the call ran, and what the sender was told', () => {
  const decide = (decided: object) =>
    wholeText(humanResult('approval-decide', { ...request, decidedAt: now, ...decided }, {}, true))
  const sent = { at: now, state: 'sent', text: 'Your money is on its way.' }
  const run = { at: now, ms: 5, result: sent.text }
  const approved = decide({ status: 'approved', run, answers: [sent] })
  assert.match(approved, /^approved: Refund 64\.50 EUR \(31dc972c, skill refund\)\nThe skill ran 20\S+ /)
  assert.match(approved, /\nWhat the sender was told, 20.*\n {2}Your money is on its way\.$/)
  assert.equal(approved.match(/on its way/g)?.length, 1)
  const failed = { at: now, ms: 5, code: 'skill_failed', error: 'the bank is closed' }
  const after = decide({ status: 'approved', run: failed, answers: [] })
  assert.match(after, /The skill failed with skill_failed .*: the bank is closed\nThe sender was not told/)
  const denied = decide({ status: 'denied', reasonGoesTo: 'sender', answers: [{ ...sent, text: 'No.' }] })
  assert.match(denied, /What the sender was told, .*\n {2}No\.$/)
  assert.match(decide({ status: 'denied', reasonGoesTo: 'sender' }), /reason go to the sender\.$/)
})

const outbox = (at: number, what: string, key: string, detail = {}) => ({
  at,
  road: 'outbox',
  what,
  detail: { key, ...detail },
})
const message = {
  id: 'm1',
  from: { id: 'luca@example.com', name: 'Luca Rossi' },
  subject: 'Order 4820',
  text: 'Hello,\n\nthe stove leaks.\n',
  receivedAt: now - 90_000,
}
const question = 'Refund 64.50 EUR\n\nRequested by: luca\n\n```\n{}\n```\n\nThis needs an approval: trivium'
const asked = outbox(now - 60_000, 'sent', 'approval:31dc972c', { text: question })

test('approval show has what the sender wrote, and not the text of the post', () => {
  const posted = { at: now, state: 'sent', text: question }
  const text = show({ status: 'pending', posted, shownMessage: { message, history: [asked] } })
  assert.match(
    text,
    /^The message of Luca Rossi, 20.* UTC \(\d+ (?:s|min) ago\)\n {2}Subject: Order 4820\n {2}Hello,$/m,
  )
  assert.match(text, /^ {2}the stove leaks\.$/m)
  assert.match(text, /^request posted\s+in the conversation, 20.* ago\)$/m)
  assert.doesNotMatch(text, /This needs an approval|```|What the sender/)
})

test('approval show of a decided request has what the sender was told afterwards', () => {
  const decided = { status: 'denied', reasonGoesTo: 'skill', calledBy: 'helpdesk', decidedAt: now - 30_000 }
  const sent = [
    outbox(now - 29_000, 'queued', 'm1:refunds:0', { text: 'We cannot refund it.' }),
    outbox(now - 28_000, 'sent', 'm1:refunds:0'),
  ]
  const early = { at: now - 28_500, road: 'outbox', what: 'retried early', detail: { by: 'cli' } }
  const shownMessage = { message, history: [asked, ...sent, early] }
  const text = show({ ...decided, shownMessage })
  assert.match(text, /^What the sender was told, 20.* UTC \(\d+ s ago\)\n {2}We cannot refund it\.$/m)
  assert.doesNotMatch(text, /denial goes to|To approve it|not told/)
  const dead = outbox(now - 27_000, 'dead', 'm1:refunds:0', { error: 'no such mailbox' })
  const dropped = {
    at: now - 26_000,
    road: 'outbox',
    what: 'dropped',
    detail: { id: 'outbox:m1', by: 'ada' },
  }
  const ended = [...sent.slice(0, 1), dead, dropped]
  const failed = show({ ...decided, shownMessage: { message, history: ended } })
  assert.match(
    failed,
    /^What the sender was not told \(dead\), .*\n {2}It was not delivered: no such mailbox$/m,
  )
  assert.doesNotMatch(failed, /not told \(dropped\)/)
})

test('a decision that was made before is shown as such, with who made it', () => {
  const before = { decidedAt: now - 7_200_000, decidedBy: 'control-token:Ada', reason: 'has a photo' }
  const result = { ...request, status: 'approved', ...before, repeated: true }
  const text = wholeText(humanResult('approval-decide', result, { id: '31dc972c', approve: true }, true))
  assert.match(text, /^Already approved by Ada, 20.* UTC \(2 h ago\): has a photo\nNothing changed: /)
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
    nextFree: { at: Date.parse('2026-12-20T21:00:00Z'), amount: 1 },
  })
  assert.match(line, /free again: 1\.00 EUR more at 2026-12-20 21:00 UTC, all by 2026-12-29$/)
})
