import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newMessage } from '../../engine/kit.ts'
import { openStore } from '../../runtime/support/store.ts'

test('the backlog of a gateway is counted in a limited part of the journal', async (t) => {
  const store = await openStore(t)
  const conversations = Array.from({ length: 20_002 }, (_, at) => `c${at}`)
  await store.journal.accept(
    conversations.map((conversation) => newMessage({ gateway: 'shop', conversation })),
  )
  // The first one stays, so that the position of the gateway does not move.
  for (const conversation of conversations.slice(1))
    await store.receive.take({ gateway: 'shop', conversation })
  const { messages, more } = await store.receive.backlog('shop')
  assert.deepEqual([messages, more], [1, true])
})
