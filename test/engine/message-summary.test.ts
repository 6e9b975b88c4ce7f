import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageSummary } from '../../src/engine/message-summary.ts'

const body = { field: 'messages', value: { messages: [{ from: '4477', text: { body: 'hello' } }] } }
const webhook = { transport: 'webhook', text: JSON.stringify(body), data: { format: 'json', body } }

test('a message shows a summary of its body', () => {
  assert.equal(messageSummary(webhook), 'field: messages · from: 4477')
  // An element of a list has no format.
  assert.equal(messageSummary({ ...webhook, data: { body } }), 'field: messages · from: 4477')
})

test('a message shows its text, and no summary, if the option `text` of the gateway found one', () => {
  assert.equal(messageSummary({ ...webhook, text: 'hello', data: { body } }), undefined)
  assert.equal(messageSummary({ ...webhook, text: '', data: { body } }), 'field: messages · from: 4477')
})

test('a message with a subject shows the subject', () => {
  assert.equal(messageSummary({ ...webhook, subject: 'An order' }), undefined)
})
