import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { assertPrompt } from '../../fixtures/in-time.ts'
import { callback, command, deliverEvent, type SlackSetup, startSlackGateway } from './harness.ts'

const limited = (seconds: number) => ({ status: 429, headers: { 'retry-after': String(seconds) } })
/** Time in which Slack expects an acknowledgement (ms). */
const ACK_WITHIN = 3000

async function connected(t: TestContext): Promise<SlackSetup> {
  const setup = await startSlackGateway()
  t.after(() => setup.close())
  return setup
}

const channels = ({ fixture }: SlackSetup) => fixture.store.messages.map(({ data }) => data.channel)
const deliver = ({ server }: SlackSetup, event: JsonObject, retry = 0) =>
  server.sockets.deliver('events_api', callback({ text: 'hello', ts: server.nextTs(), ...event }), {
    retry,
    within: ACK_WITHIN,
  })

describe('data that Slack temporarily refuses', { concurrency: 4 }, () => {
  const item = { type: 'message', channel: 'C0GEN', ts: '7.1' }
  for (const [name, method, event] of [
    ['the name of a channel', 'conversations.info', {}],
    ['the name of an author', 'users.info', {}],
    ['the thread of a reaction', 'conversations.replies', { type: 'reaction_added', reaction: 'eyes', item }],
  ] as const) {
    test(`leaves the event to its redelivery: ${name}`, async (t) => {
      const setup = await connected(t)
      const { server, fixture } = setup
      server.write({ ts: '7.1', channel: 'C0GEN', text: 'reply', thread_ts: '6.1' })
      server.answerNext(method, limited(3))
      const payload = callback({ text: 'hello', ts: server.nextTs(), ...event })
      const first = await server.sockets.deliver('events_api', payload, { within: ACK_WITHIN })
      assert.deepEqual([first.acked, fixture.refused], [false, ['incomplete']])
      for (let times = 0, acked = false; times < 10 && !acked; times++) {
        acked = (await server.sockets.deliver('events_api', payload, { retry: 1, within: ACK_WITHIN })).acked
      }
      const [message] = fixture.store.messages
      assert.deepEqual([message?.data.channel, message?.from.name], [['C0GEN', 'chan-c0gen'], 'name-U1ANN'])
      if (method === 'conversations.replies') assert.equal(message?.conversation, 'slack:T0TEAM:C0GEN:6.1')
    })
  }

  test('does not prevent the last delivery or a command, and delays a command only briefly', async (t) => {
    const setup = await connected(t)
    setup.server.answerNext('conversations.info', limited(30))
    assert.ok((await deliver(setup, {}, 3)).acked)
    const began = performance.now()
    await command(setup, { channel_id: 'C0S', channel_name: 'privategroup' })
    await assertPrompt('the command', performance.now() - began, 3_000)
    // The payload of a command has the name of a public channel.
    await command(setup, { channel_id: 'C0P', channel_name: 'ops' })
    assert.deepEqual(channels(setup), [['C0GEN'], ['C0S'], ['C0P', 'ops']])
  })
})

test('a channel whose name Slack permanently refuses has only its id, and does not delay messages', async (t) => {
  const setup = await connected(t)
  setup.server.answerNext('conversations.info', { body: { ok: false, error: 'missing_scope' } })
  for (const text of ['first', 'second']) {
    const outcome = await deliver(setup, { text })
    assert.ok(outcome.acked)
    await assertPrompt(text, outcome.ms, 2_000)
  }
  assert.deepEqual(channels(setup), [['C0GEN'], ['C0GEN']])
  assert.equal(setup.server.calls.filter(({ method }) => method === 'conversations.info').length, 1)
})

for (const subtype of ['message_changed', 'message_deleted']) {
  test(`a person mentioned only before a ${subtype} has a name in the previous text`, async (t) => {
    const setup = await connected(t)
    const before = { user: 'U1ANN', ts: setup.server.nextTs(), text: 'ask <@U2BOB>' }
    const message = subtype === 'message_changed' ? { ...before, text: 'solved' } : undefined
    const { data } = await deliverEvent(setup, {
      subtype,
      previous_message: before,
      ...(message ? { message } : { deleted_ts: before.ts }),
    })
    assert.equal(data.previousText, 'ask @name-U2BOB')
  })
}
