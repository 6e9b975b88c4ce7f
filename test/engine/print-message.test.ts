import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../src/core/json.ts'
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
  assert.match(printed, /^receive .*until 2026-11-29 00:04:00 UTC/m)
})

test('a message that is retried shows its next attempt, and each failure once', () => {
  const receivedAt = Date.parse('2026-11-28T23:59:00Z')
  const failure = { route: 'loyalty', attempt: 3, error: '423 Locked', delay: 2_596_064 }
  const printed = humanMessage({
    message: { id: 'm1', text: 'hello', receivedAt },
    outcome: 'retrying',
    next: { at: receivedAt, attempt: 4, of: 30, givesUpAt: receivedAt + 24 * 3_600_000 },
    history: [{ at: receivedAt, road: 'dispatch', what: 'failed', detail: { ...failure, ms: 38 } }],
    logs: [{ at: receivedAt, level: 'warn', message: 'the attempt failed', ...failure }],
    pushes: [],
    receive: { state: 'waiting' },
    events: [],
  })
  assert.match(printed, /^next +attempt 4 of 30, 2026-11-28 23:59:00 UTC \(now\); gives up after/m)
  assert.match(printed, /about 2026-11-29 23:59:00 UTC/)
  assert.equal(printed.split('423 Locked').length, 2)
  assert.match(printed, /again in 43 min/)
  assert.match(printed, /again in 43 min, took 38 ms: 423 Locked/)
})

test('a test that is retried shows when it ends', () => {
  const receivedAt = Date.parse('2026-11-28T23:59:00Z')
  const printed = humanMessage({
    message: { id: 'm1', text: 'hello', receivedAt },
    outcome: 'retrying',
    next: { at: receivedAt, attempt: 2, of: 4, endsAt: receivedAt + 300_000 },
    history: [],
    logs: [],
    pushes: [],
    receive: { state: 'waiting' },
    events: [],
  })
  assert.match(printed, /^next +attempt 2 of up to 4, .*; this test ends at 2026-11-29 00:04:00 UTC/m)
})

test('a dead message has the commands for its dead letter, and durations in one form', () => {
  const failure = (ms: number) => ({ at: 1, road: 'dispatch', what: 'failed', detail: { error: 'no', ms } })
  const shown = (outcome: string) =>
    humanMessage({
      message: { id: 'm1', text: 'hello', receivedAt: 0 },
      outcome,
      history: [250, 4_070, 954_600].map(failure),
      receive: { state: 'waiting' },
    })
  const printed = shown('dead')
  for (const took of ['250 ms', '4.1 s', '16 min']) assert.ok(printed.includes(`took ${took}: no`), printed)
  for (const verb of ['show', 'retry', 'drop']) assert.ok(printed.includes(`trivium dead-letter ${verb} m1`))
  assert.doesNotMatch(shown('done'), /dead-letter/)
})

test('a message that a pause holds says until when, and has the command that resumes it', () => {
  const shown = (pause: { kind: string; name: string; until?: number }) =>
    humanMessage({
      message: { id: 'm1', text: 'hello', receivedAt: 0, gateway: 'support', conversation: 'mail-1' },
      outcome: 'waiting',
      history: [],
      pausedBy: [pause],
      receive: { state: 'waiting' },
    })
  const until = shown({ kind: 'gateway', name: 'returns', until: Date.parse('2099-01-01T05:12:00Z') })
  assert.match(until, /^held by +the pause of gateway returns, until 2099-01-01 05:12:00 UTC \(in /m)
  assert.match(until, /^To resume it: `trivium gateway resume returns`$/m)
  const open = shown({ kind: 'conversation', name: 'mail-1' })
  assert.match(open, /until somebody resumes it$/m)
  assert.match(
    open,
    /`trivium conversation show support mail-1`\nTo resume it: `trivium conversation hand back mail-1`$/,
  )
})

test('the dead letter of a reply is named until it is dropped', () => {
  const dead = { at: 1, road: 'outbox', what: 'dead', detail: { key: 'm1:team:0', error: 'is_archived' } }
  const dropped = {
    at: 2,
    road: 'outbox',
    what: 'dropped',
    detail: { id: 'outbox:m1:team:0', by: 'cli:ada' },
  }
  const shown = (history: JsonObject[]) =>
    humanMessage({ message: { id: 'm1', receivedAt: 0 }, outcome: 'undelivered', history, receive: {} })
  assert.match(shown([dead]), /`trivium dead-letter show outbox:m1:team:0`/)
  const later = shown([dead, dropped])
  assert.doesNotMatch(later, /dead-letter show/)
  assert.match(later, /outbox +dropped +id outbox:m1:team:0, by /)
})

test('a message that cannot be answered says why', () => {
  const found = { message: { id: 'm1', text: 'x', receivedAt: 0 }, outcome: 'done', history: [], receive: {} }
  const reason = 'its job has already ended'
  assert.match(humanMessage({ ...found, unanswerable: reason }), /^answer +not possible: its job/m)
})

test('a delivery of a webhook shows its event, and its headers on request', () => {
  const headers = { 'x-shopify-topic': 'orders/paid', 'x-shopify-webhook-id': 'wh-17' }
  const data = { event: 'orders/paid', headers }
  const message = { id: 'm1', text: 'x', receivedAt: 0, transport: 'webhook', data }
  const found = { message, outcome: 'done', history: [], receive: {} }
  assert.match(humanMessage(found), /^event +orders\/paid$/m)
  assert.doesNotMatch(humanMessage(found), /x-shopify/)
  assert.match(
    humanMessage(found, { headers: true }),
    /^x-shopify-topic +orders\/paid\nx-shopify-webhook-id +wh-17$/m,
  )
  const mail = { ...found, message: { ...message, transport: 'email', data: {} } }
  assert.match(humanMessage(mail, { headers: true }), /It has no headers/)
})

test('a message that was answered says how, and not that it is done', () => {
  const shown = (history: JsonObject[]) =>
    humanMessage({ message: { id: 'm1', receivedAt: 0 }, outcome: 'done', history, receive: {} })
  const answered = shown([{ at: 1, road: 'outbox', what: 'sent', detail: { key: 'm1:team:0' } }])
  assert.match(answered, /^m1 +answered .*, sent$/m)
  assert.doesNotMatch(answered, /^outcome/m)
  assert.match(shown([]), /^outcome +done$/m)
})

test('a running message shows its attempt, and the command that cancels it', () => {
  const found = { message: { id: 'm1', text: 'x', receivedAt: 0, from: { id: 'ada', verified: true } } }
  const attempt = { route: 'ledger', attempt: 2, skill: 'export', since: Date.parse('2026-11-29T10:00:05Z') }
  const printed = humanMessage({ ...found, outcome: 'running', attempt, history: [], receive: {} })
  assert.match(
    printed,
    /^running +route ledger, attempt 2, skill export, since 2026-11-29 10:00:05 UTC \(.*\)$/m,
  )
  assert.match(printed, /^received +1970-01-01 00:00:00 UTC .*\noutcome +running$/m)
  assert.match(printed, /^from +ada \(verified\)$/m)
  assert.match(printed, /`trivium run cancel m1 --reason TEXT`/)
})

test('the timeline is for people: no JSON, no keys of programs, the model once, and skills of attempts', () => {
  const at = (second: number) => Date.parse('2026-11-29T10:00:00Z') + second * 1000
  const answer = '{"state":"left the warehouse","parcels":2}'
  const tool = { tool: 'order-status', args: '{"order":"4655"}', ms: 4_002, answer }
  const usage = { skill: 'helpdesk', model: 'm', steps: 2, inputTokens: 2194, outputTokens: 202 }
  const model = { ...usage, tools: [tool], money: 0.009612, currency: 'EUR' }
  const failure = { route: 'mail', error: 'Skill helpdesk failed: no order', code: 'skill_failed' }
  const sent = { text: 'Hello,\n\nit comes.', by: 'route mail', id: 'm1:mail:0', key: 'm1:mail:0' }
  const printed = humanMessage({
    message: { id: 'm1', text: '{"order":{"id":4655}}', receivedAt: at(0) },
    outcome: 'running',
    running: { route: 'mail', skill: 'helpdesk' },
    attempt: { route: 'mail', skill: 'helpdesk', attempt: 3, since: at(9) },
    skills: { mail: 'other' },
    history: [
      { at: at(1), road: 'dispatch', what: 'failed', detail: { ...failure, attempt: 1 } },
      { at: at(2), road: 'dispatch', what: 'failed', detail: { ...failure, attempt: 2 } },
      { at: at(3), road: 'dispatch', what: 'model', detail: model },
      { at: at(4), road: 'outbox', what: 'sent', detail: sent },
    ],
    logs: [
      { at: at(3), level: 'info', message: 'a model answered', ...usage },
      { at: at(10), level: 'info', message: 'page 1', text: 'of the ledger', trace: 'abc' },
    ],
    receive: { state: 'waiting' },
  })
  assert.match(printed, /^\{\n {2}"order": \{\n {4}"id": 4655$/m)
  assert.match(printed, /failed +route mail \(skill helpdesk\), attempt 1: no order$/m)
  assert.match(
    printed,
    /model +skill helpdesk, model m, 2 steps, 2,194 tokens in, 202 out, 0\.0096 EUR\n +tool order-status order=4655 \(4 s\) → state: left the warehouse, parcels: 2$/m,
  )
  assert.equal(printed.split('2,194').length, 2)
  assert.match(printed, /sent +route mail\n +Hello,\n\n +it comes\.$/m)
  assert.match(
    printed,
    /^10:00:09\.000 +dispatch +running +route mail \(skill helpdesk\), attempt 3, for .*\n +To cancel the attempt: `trivium run cancel m1 --reason TEXT`\n10:00:10/m,
  )
  assert.doesNotMatch(printed, /m1:mail:0|abc|inputTokens|a model answered/)
})

test('a long text is cut at a terminal, and not in a pipe', (t) => {
  const { columns } = process.stdout
  t.after(() => {
    process.stdout.columns = columns
  })
  const text = Array.from({ length: 50 }, (_, at) => `line ${at}`).join('\n')
  const found = { message: { id: 'm1', text, receivedAt: 0 }, outcome: 'done', history: [], receive: {} }
  process.stdout.columns = 80
  assert.match(humanMessage(found), /line 29\n… 20 more lines: `trivium message show m1 --full`\n/)
  assert.match(humanMessage(found, { full: true }), /line 49\n/)
  process.stdout.columns = 0
  assert.match(humanMessage(found), /line 49\n/)
})

test('a reply that was not delivered has the command for its dead letter', () => {
  const detail = { text: 'Noted.', by: 'route team', key: 'm1:team:0', error: 'is_archived' }
  const history = [{ at: 0, road: 'outbox', what: 'dead', detail }]
  const message = { id: 'm1', text: 'x', receivedAt: 0 }
  const printed = humanMessage({ message, outcome: 'undelivered', history, receive: {} })
  assert.match(
    printed,
    /dead +route team: is_archived\n +Noted\.\n.*`trivium dead-letter show outbox:m1:team:0`/,
  )
})
