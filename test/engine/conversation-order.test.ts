import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createConversations } from '../../src/engine/conversations.ts'
import { openStore } from '../runtime/support/store.ts'
import { callOf, newMessage } from './kit.ts'

test('messages of the same millisecond stay in their order in a conversation', async (t) => {
  const store = await openStore(t)
  const texts = ['one', 'two', 'three', 'four']
  const said = texts.map((text) => newMessage({ gateway: 'support', conversation: 'c', text }))
  await store.journal.accept(said)
  const { show } = createConversations({
    store,
    answerable: () => ['support'],
    unanswerable: () => undefined,
    unreachable: () => undefined,
    isOneOff: () => false,
    holdOf: () => undefined,
  })
  const { entries } = Object(await show({ gateway: 'support', conversation: 'c', limit: 20 }, callOf()))
  assert.deepEqual(
    entries.map(({ text }: { text: string }) => text),
    texts,
  )
})
