import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeadLetter } from '../../src/core/store.ts'
import { letterSearch } from '../../src/engine/letter-search.ts'
import { messageOf } from '../runtime/support/message.ts'

const ERROR = { at: 1, code: 'skill_failed', message: 'SKU NL-1 is not in the catalogue' }
const ORDER: DeadLetter = Object({
  id: 'order',
  queue: 'dispatch',
  group: 'orders',
  at: 1,
  errors: [ERROR],
  message: messageOf({
    conversation: 'shop:#5110',
    text: 'two tents, order 95110',
    from: { id: 'u1', name: 'Amélia Holm', address: 'amelia@mail.example', verified: true },
  }),
})
const REPLY: DeadLetter = Object({
  id: 'reply',
  queue: 'outbox',
  group: 'support',
  at: 1,
  errors: [{ at: 1, code: 'send_rejected', message: 'no such mailbox' }],
  data: { to: 'h.olsen@mail.example', text: 'It is on its way.' },
})

test('a search of dead letters covers the error, the message with its sender, and the reply', () => {
  const found = (search: string) => [ORDER, REPLY].filter(letterSearch(search)).map(({ id }) => id)
  assert.deepEqual(found('amelia'), ['order'])
  assert.deepEqual(found('amelia@mail.example catalogue'), ['order'])
  assert.deepEqual(found('#5110'), ['order'])
  assert.deepEqual(found('5110'), ['order'])
  assert.deepEqual(found('511'), [])
  assert.deepEqual(found('"511"'), ['order'])
  assert.deepEqual(found('olsen'), ['reply'])
  assert.deepEqual(found('"on its way" MAILBOX'), ['reply'])
  assert.deepEqual(found('mail.example'), ['order', 'reply'])
  assert.deepEqual(found('olsen catalogue'), [])
})
