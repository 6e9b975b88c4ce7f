import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPeople } from '../../src/features/assistant/people.ts'
import { messageOf } from '../runtime/support/message.ts'
import { callFrom } from './kit.ts'

test('a person is found by an address in upper case, as the sender that their answer will have', async () => {
  const from = { id: 'ada@example.com', address: 'ada@example.com', verified: true }
  const message = messageOf({ id: 'm-1', gateway: 'mail', transport: 'email', from })
  const find = createPeople(
    { transportOf: (gateway) => (gateway === 'mail' ? 'email' : undefined), message: async () => message },
    { lastMessage: async (_gateway, name) => (name === 'ada@example.com' ? 'm-1' : undefined) },
  )
  const call = callFrom('mail')
  const identity = 'mail:ada@example.com'
  assert.deepEqual(await find('mail:Ada@Example.com', call), { identity, recipient: { message } })
  assert.deepEqual(await find('Ada@Example.com', call), { identity, recipient: { message } })
  assert.deepEqual(await find('Bob@Example.com', call), {
    identity: 'mail:bob@example.com',
    recipient: { gateway: 'mail', to: 'Bob@Example.com' },
  })
})
