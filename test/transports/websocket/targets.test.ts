import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { websocket } from '../../../transports/websocket/index.ts'
import { startWebsocket } from './harness.ts'

test('a WebSocket gateway refuses target ids that no client can have', () => {
  const faultOf = (to: string, clients: object) =>
    websocket.targetFault?.(to, 'app', websocket.options.parse({ path: '/app', ...clients }))
  const known = { tokens: { alice: 'a', bob: 'b' } }
  /** Has the form of an id from a welcome frame. */
  const issued = `${'a'.repeat(22)}.${'b'.repeat(16)}`
  for (const to of ['app:alice:notes', 'app:bob:main', issued]) assert.equal(faultOf(to, known), undefined)
  for (const to of [
    'notes',
    'alice:notes',
    'app:eve:notes',
    'other:alice:notes',
    'app:alice:',
    'app:alice:a b',
  ])
    assert.match(faultOf(to, known) ?? '', /such as app:alice:main \(clients: alice, bob\)/)
  assert.equal(faultOf(issued, {}), undefined)
  assert.match(faultOf('notes', {}) ?? '', /the id of a welcome frame/)
})

describe('a WebSocket gateway can send', () => {
  test('to the conversations of clients that were connected, and no others', async () => {
    const { transport, connect } = await startWebsocket()
    const client = await connect()
    const { conversation = '' } = client.welcome
    client.socket.terminate()
    await transport.requireTarget?.(conversation)
    const forged = `${conversation.slice(0, -1)}${conversation.endsWith('A') ? 'B' : 'A'}`
    for (const to of ['never-there', '', forged, 'test:ada:main']) {
      await assert.rejects(async () => transport.requireTarget?.(to), { code: 'conversation_not_found' })
    }
  })

  test('with tokens, to conversations in which the client of a token was connected', async () => {
    const { transport, connect } = await startWebsocket({ tokens: { ada: 'a long token of ada' } })
    const own = await connect('?token=a%20long%20token%20of%20ada')
    await transport.requireTarget?.(own.welcome.conversation ?? '')
    await assert.rejects(async () => transport.requireTarget?.('test:ada:main'), {
      code: 'conversation_not_found',
    })
    const named = await connect('?token=a%20long%20token%20of%20ada&conversation=main')
    assert.equal(named.welcome.conversation, 'test:ada:main')
    await transport.requireTarget?.('test:ada:main')
  })
})
