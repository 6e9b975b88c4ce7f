import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { websocket } from '../../../transports/websocket/index.ts'
import fc from '../../fixtures/fast-check.ts'
import { until } from '../../fixtures/until.ts'
import { startWebsocket } from './harness.ts'

describe('a WebSocket gateway', () => {
  test('acknowledges a repeated id with the first message, but accepts the same id of another client', async () => {
    const { connect, store } = await startWebsocket()
    const client = await connect()
    client.say({ type: 'message', id: 1, text: 'one' })
    client.say({ type: 'message', id: 1, text: 'one again' })
    const first = await client.next('ack')
    assert.deepEqual(await client.next('ack'), { ...first, duplicate: true })
    const other = await connect()
    other.say({ type: 'message', id: 1, text: 'of another' })
    assert.notEqual((await other.next('ack')).messageId, first.messageId)
    assert.equal(store.messages.length, 2)
  })

  test('keeps the digits of long ids, so that neighbouring ids are distinct', async () => {
    const { connect, store } = await startWebsocket()
    const client = await connect()
    for (const id of ['7615917337495251231', '7615917337495251232']) {
      client.socket.send(`{"type":"message","text":"x","id":${id},"post":{"id":${id}}}`)
      const { id: acknowledged, duplicate } = await client.next('ack')
      assert.deepEqual([acknowledged, duplicate], [id, undefined])
      assert.deepEqual(store.messages.at(-1)?.data.post, { id })
    }
  })

  test('sends a reply with its data in a field, so that it cannot imitate frames of the gateway', async () => {
    const { connect, reply } = await startWebsocket()
    const client = await connect()
    const more = { inReplyTo: 'm1', subject: 's', data: { type: 'x', seq: 9 } }
    await reply(client.conversation, 'hi', more)
    assert.deepEqual(await client.next('message'), { type: 'message', text: 'hi', ...more, seq: 1 })
  })

  test('answers ping frames, which are not messages', async () => {
    const { connect, store, refused } = await startWebsocket({ 'rate-limit': '1/10s' })
    const client = await connect()
    for (const [sent, pong] of [
      ['{"type":"ping"}', { type: 'pong' }],
      ['{"type":"ping","id":7}', { type: 'pong', id: '7' }],
      // The format of VueUse and other libraries.
      ['ping', { type: 'pong' }],
    ] as const) {
      client.socket.send(sent)
      assert.deepEqual(await client.next('pong'), pong)
    }
    client.say({ type: 'message', text: 'ping' })
    await client.next('ack')
    assert.deepEqual([store.messages.length, refused], [1, []])
  })

  test('answers each invalid frame with an error', async () => {
    const { connect, store } = await startWebsocket()
    const client = await connect()
    const bad: (string | Buffer)[] = [
      '',
      '{',
      'null',
      '[]',
      '"message"',
      '{"type":"nonsense"}',
      '{"type":"message"}',
      '{"type":"message","text":5}',
      '{"type":"message","text":"x","id":{}}',
      `{"type":"message","text":"x","id":"${'i'.repeat(201)}"}`,
      '{"type":"message","text":"x","format":"json"}',
      '{"type":"message","text":"x","respond":"result"}',
      '{"type":"message","text":"x","replyTarget":{"log":true}}',
      `{"type":"message","text":"x","deep":${'['.repeat(200)}${']'.repeat(200)}}`,
      `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
      Buffer.from('{"type":"message","text":"binary"}'),
    ]
    for (const frame of bad) {
      client.socket.send(frame)
      const error = await client.next('error')
      assert.equal(error.code, 'bad_request', frame.toString().slice(0, 80))
    }
    client.say({ type: 'message' })
    assert.equal((await client.next('error')).message, 'The request cannot be read: text is missing.')
    assert.equal(store.acceptCalls, 0)
    client.say({ type: 'message', text: 'still here' })
    await client.next('ack')
  })

  test('closes a connection with invalid UTF-8 (1007), and serves the others', async () => {
    const { connect } = await startWebsocket()
    const [broken, other] = [await connect(), await connect()]
    broken.socket.send(Buffer.from([0xc3, 0x28]), { binary: false })
    assert.equal(await broken.closed, 1007)
    other.say({ type: 'message', text: 'ü'.repeat(100_000) })
    await other.next('ack')
  })

  test('answers any frame with exactly one ack or error', async () => {
    const { connect, store } = await startWebsocket()
    const client = await connect()
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.record({ type: fc.constant('message'), text: fc.string(), x: fc.jsonValue() }),
        ),
        async (frame) => {
          client.socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame))
          await until(() => client.frames.length > 0, 'an answer')
          const [answer] = client.frames.splice(0)
          assert.ok(answer?.type === 'ack' || answer?.type === 'error')
        },
      ),
      { numRuns: 200 },
    )
    // The event of each accepted message can be made and encoded.
    for (const message of store.messages)
      assert.doesNotThrow(() => JSON.stringify(websocket.eventData(message)))
  })

  test('refuses frames over the rate limit of their connection', async () => {
    const { connect } = await startWebsocket({ 'rate-limit': '2/1m' })
    const [one, two] = [await connect(), await connect()]
    for (const text of ['a', 'b', 'c']) one.say({ type: 'message', id: text, text })
    await one.next('ack')
    await one.next('ack')
    const error = await one.next('error')
    assert.deepEqual([error.code, error.id], ['rate_limited', 'c'])
    two.say({ type: 'message', text: 'x' })
    await two.next('ack')
  })

  test('has the verified author in its events, whatever the frame claims', async () => {
    const { connect, store } = await startWebsocket({ tokens: { alice: 't-alice' } })
    const client = await connect('?token=t-alice')
    const forged = { from: 'mallory', messageId: 'other', conversation: 'other' }
    client.say({ type: 'message', text: 'hi', ...forged, room: 5 })
    await client.next('ack')
    const [message] = store.messages
    assert.ok(message)
    assert.deepEqual(websocket.eventData(message), { from: 'alice', room: 5, body: 'hi' })
  })
})
