import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { assertPrompt } from '../../fixtures/in-time.ts'
import { callback, command, startWorld, type World } from './harness.ts'

const limited = (seconds: number) => ({ status: 429, headers: { 'retry-after': String(seconds) } })
/** Slack waits so long for an acknowledgement. */
const SLACK = 3000

async function connected(t: TestContext): Promise<World> {
  const world = await startWorld()
  t.after(() => world.close())
  return world
}

const channels = ({ fixture }: World) => fixture.store.messages.map(({ data }) => data.channel)
const deliver = ({ server }: World, event: JsonObject, retry = 0) =>
  server.sockets.deliver('events_api', callback({ text: 'hello', ts: server.nextTs(), ...event }), {
    retry,
    within: SLACK,
  })

describe('what Slack does not tell at the moment', { concurrency: 4 }, () => {
  const item = { type: 'message', channel: 'C0GEN', ts: '7.1' }
  for (const [what, method, event] of [
    ['the name of a channel', 'conversations.info', {}],
    ['the name of an author', 'users.info', {}],
    ['the thread of a reaction', 'conversations.replies', { type: 'reaction_added', reaction: 'eyes', item }],
  ] as const) {
    test(`is waited for by leaving the event to come again: ${what}`, async (t) => {
      const world = await connected(t)
      const { server, fixture } = world
      server.write({ ts: '7.1', channel: 'C0GEN', text: 'reply', thread_ts: '6.1' })
      server.fail(method, limited(3))
      const payload = callback({ text: 'hello', ts: server.nextTs(), ...event })
      const first = await server.sockets.deliver('events_api', payload, { within: SLACK })
      assert.deepEqual([first.acked, fixture.refused], [false, ['incomplete']])
      for (let times = 0, acked = false; times < 10 && !acked; times++) {
        acked = (await server.sockets.deliver('events_api', payload, { retry: 1, within: SLACK })).acked
      }
      const [message] = fixture.store.messages
      assert.deepEqual([message?.data.channel, message?.from.name], [['C0GEN', 'chan-c0gen'], 'name-U1ANN'])
      if (method === 'conversations.replies') assert.equal(message?.conversation, 'slack:T0TEAM:C0GEN:6.1')
    })
  }

  test('keeps out neither what comes for the last time, nor a command, which is not delayed for long', async (t) => {
    const world = await connected(t)
    world.server.fail('conversations.info', limited(30))
    assert.ok((await deliver(world, {}, 3)).acked)
    const from = performance.now()
    await command(world, { channel_id: 'C0S', channel_name: 'privategroup' })
    await assertPrompt('the command', performance.now() - from, 3_000)
    // What a command says itself will do.
    await command(world, { channel_id: 'C0P', channel_name: 'ops' })
    assert.deepEqual(channels(world), [['C0GEN'], ['C0S'], ['C0P', 'ops']])
  })
})

test('a channel whose name Slack will never tell goes by its id, and holds up nothing', async (t) => {
  const world = await connected(t)
  world.server.fail('conversations.info', { body: { ok: false, error: 'missing_scope' } })
  for (const text of ['first', 'second']) {
    const outcome = await deliver(world, { text })
    assert.ok(outcome.acked)
    await assertPrompt(text, outcome.ms, 2_000)
  }
  assert.deepEqual(channels(world), [['C0GEN'], ['C0GEN']])
  assert.equal(world.server.calls.filter(({ method }) => method === 'conversations.info').length, 1)
})
