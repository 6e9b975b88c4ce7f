import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import type { Message } from '../../../src/core/message.ts'
import { replyTo, startWorld } from './harness.ts'

const world = await startWorld()
after(() => world.close())
const { server, fixture, transport } = world
const responseUrl = server.apiUrl.replace('/api/', '/respond/1')
let serial = 0

/** Delivers a command or an interaction and resolves with the message that became of it. */
async function deliver(type: 'slash_commands' | 'interactive', payload: JsonObject): Promise<Message> {
  const before = fixture.store.messages.length
  const { acked } = await server.sockets.deliver(type, { trigger_id: `t${++serial}`, ...payload })
  const message = fixture.store.messages[before]
  assert.ok(acked && message)
  return message
}

const click = (container: JsonObject, more: JsonObject = {}) =>
  deliver('interactive', {
    type: 'block_actions',
    team: { id: 'T0TEAM' },
    user: { id: 'U1ANN' },
    channel: { id: 'C0GEN', name: 'general' },
    container: { type: 'message', channel_id: 'C0GEN', ...container },
    actions: [{ action_id: 'pick', value: 'v', action_ts: '1' }],
    ...more,
  })

const command = (channel: JsonObject) =>
  deliver('slash_commands', {
    command: '/ask',
    text: 'x',
    user_id: 'U1ANN',
    user_name: 'ann',
    team_id: 'T0TEAM',
    response_url: responseUrl,
    ...channel,
  })

describe('a click on what only one person sees', () => {
  test('is answered to that person, and starts no thread', async () => {
    const message = await click(
      { message_ts: '1999.000001', is_ephemeral: true },
      { response_url: responseUrl },
    )
    assert.deepEqual([message.data.thread, message.conversation], [undefined, 'slack:T0TEAM:C0GEN:U1ANN'])
    const posts = server.posts.length
    await transport.send(replyTo(message, 'your salary'))
    assert.equal(server.posts.length, posts, 'nothing stands in the channel')
    assert.deepEqual(
      server.calls.filter(({ method }) => method === 'response_url').map(({ args }) => args.text),
      ['your salary'],
    )
  })

  test('belongs to the thread that it was shown in', async () => {
    const shown = { message_ts: '1999.000002', thread_ts: '1600000000.000001', is_ephemeral: true }
    const message = await click(shown, { response_url: responseUrl })
    assert.deepEqual(
      [message.data.thread, message.conversation],
      ['1600000000.000001', 'slack:T0TEAM:C0GEN:1600000000.000001:U1ANN'],
    )
  })
})

test('a click on what everybody sees is answered in its thread', async () => {
  const message = await click({ message_ts: '1999.000003' }, { response_url: responseUrl })
  assert.equal(message.conversation, 'slack:T0TEAM:C0GEN:1999.000003')
  await transport.send(replyTo(message, 'all see it'))
  assert.deepEqual([server.posts.at(-1)?.thread_ts, server.posts.at(-1)?.text], ['1999.000003', 'all see it'])
})

test('a command or click in a private channel comes with the real name of the channel', async () => {
  const asked = await command({ channel_id: 'C0SECRET', channel_name: 'privategroup' })
  assert.deepEqual(asked.data.channel, ['C0SECRET', 'chan-c0secret'])
  const clicked = await click({ message_ts: '1.1' }, { channel: { id: 'C0SECRET', name: 'privategroup' } })
  assert.deepEqual(clicked.data.channel, ['C0SECRET', 'chan-c0secret'])
  const open = await command({ channel_id: 'C0GEN', channel_name: 'general' })
  assert.deepEqual(open.data.channel, ['C0GEN', 'general'], 'what Slack tells is not asked for')
  const direct = await command({ channel_id: 'D0ANN', channel_name: 'directmessage' })
  assert.deepEqual(direct.data.channel, ['D0ANN'])
})
