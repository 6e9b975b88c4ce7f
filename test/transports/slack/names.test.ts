import assert from 'node:assert/strict'
import { after, describe, type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { createSlackApi } from '../../../transports/slack/api.ts'
import { createDirectory } from '../../../transports/slack/directory.ts'
import { startSlackServer } from '../../fixtures/slack-server.ts'
import { recordingLog } from '../../fixtures/transport-deps.ts'
import { until } from '../../fixtures/until.ts'
import { callback, startWorld, type World } from './harness.ts'

const UNAVAILABLE = { status: 503, body: {} }
const limited = (seconds: number) => ({ status: 429, headers: { 'retry-after': String(seconds) } })
/** Slack waits so long for an acknowledgement. */
const SLACK = 3000

async function connected(t: TestContext): Promise<World> {
  const world = await startWorld()
  t.after(() => world.close())
  return world
}

const asked = ({ server }: World, method: string) => server.calls.filter((call) => call.method === method)
const channels = ({ fixture }: World) => fixture.store.messages.map(({ data }) => data.channel)

/** Delivers as Slack does, again and again until it is acknowledged; resolves with how often. */
async function deliverUntilAcked({ server }: World, payload: JsonObject): Promise<number> {
  for (let retry = 0; retry < 10; retry++) {
    // Slack says "1" for far longer than this; what matters is that it is not the last time.
    const options = { retry: Math.min(1, retry), within: SLACK }
    if ((await server.sockets.deliver('events_api', payload, options)).acked) return retry + 1
  }
  throw new Error('it was never acknowledged')
}

describe('the name of a channel that Slack does not tell at the moment', () => {
  test('is waited for, by leaving the event to come again', async (t) => {
    const world = await connected(t)
    world.server.fail('conversations.info', limited(3))
    const event = callback({ text: 'hello', ts: world.server.nextTs() })
    assert.ok((await deliverUntilAcked(world, event)) > 1, 'the first time it was refused')
    assert.deepEqual(channels(world), [['C0GEN', 'chan-c0gen']])
    assert.ok(world.fixture.refused.includes('incomplete'))
  })

  test('is asked for again meanwhile, so that a short trouble costs nothing', async (t) => {
    const world = await connected(t)
    world.server.fail('conversations.info', UNAVAILABLE, { hangUp: true })
    const event = callback({ text: 'hello', ts: world.server.nextTs() })
    assert.ok((await world.server.sockets.deliver('events_api', event, { within: SLACK })).acked)
    assert.deepEqual(channels(world), [['C0GEN', 'chan-c0gen']])
  })

  test('does not keep out what Slack delivers for the last time', async (t) => {
    const world = await connected(t)
    world.server.fail('conversations.info', limited(30))
    const event = callback({ text: 'hello', ts: world.server.nextTs() })
    assert.ok((await world.server.sockets.deliver('events_api', event, { retry: 3 })).acked)
    assert.deepEqual(channels(world), [['C0GEN']])
  })

  test('does not keep out a command, which comes only once, nor delay it for long', async (t) => {
    const world = await connected(t)
    world.server.fail('conversations.info', limited(30))
    const command = { command: '/ask', text: 'x', user_id: 'U1ANN', channel_id: 'C0S', team_id: 'T0TEAM' }
    const named = { ...command, channel_name: 'privategroup', user_name: 'ann' }
    const outcome = await world.server.sockets.deliver('slash_commands', named)
    assert.ok(outcome.acked && outcome.ms < 2000)
    assert.deepEqual(channels(world), [['C0S']])
  })

  test('is asked for a few times only, however many messages want it', async (t) => {
    const world = await connected(t)
    world.server.fail('conversations.info', ...Array.from({ length: 300 }, () => UNAVAILABLE))
    const deliveries = Array.from({ length: 100 }, (_, number) =>
      world.server.sockets.deliver('events_api', callback({ text: `${number}`, ts: world.server.nextTs() }), {
        within: SLACK,
      }),
    )
    assert.ok((await Promise.all(deliveries)).every(({ acked }) => !acked))
    assert.ok(asked(world, 'conversations.info').length <= 6)
  })
})

test('a channel whose name Slack will never tell goes by its id, and holds up nothing', async (t) => {
  const world = await connected(t)
  world.server.fail('conversations.info', { body: { ok: false, error: 'missing_scope' } })
  for (const text of ['first', 'second']) {
    const event = callback({ text, ts: world.server.nextTs() })
    const outcome = await world.server.sockets.deliver('events_api', event)
    assert.ok(outcome.acked && outcome.ms < 1000)
  }
  assert.deepEqual(channels(world), [['C0GEN'], ['C0GEN']])
  assert.equal(asked(world, 'conversations.info').length, 1)
})

test('the name of an author is waited for too, because a route may want it', async (t) => {
  const world = await connected(t)
  world.server.fail('users.info', limited(3))
  const event = callback({ text: 'hello', ts: world.server.nextTs() })
  assert.ok((await deliverUntilAcked(world, event)) > 1, 'the first time it was refused')
  assert.deepEqual(
    world.fixture.store.messages.map(({ from }) => from.name),
    ['name-U1ANN'],
  )
})

test('the name of somebody who is only mentioned is done without where Slack does not tell it in time', async (t) => {
  const world = await connected(t)
  await world.server.sockets.deliver('events_api', callback({ text: 'first', ts: '1.1' }))
  world.server.fail('users.info', limited(30))
  const event = callback({ text: 'ask <@U2BOB>', ts: '1.2' })
  const outcome = await world.server.sockets.deliver('events_api', event)
  assert.ok(outcome.acked && outcome.ms < 2000)
})

test('a reaction waits for the thread of its message, by which its conversation goes', async (t) => {
  const world = await connected(t)
  world.server.write({ ts: '7.1', channel: 'C0GEN', text: 'reply', thread_ts: '6.1' })
  world.server.fail('conversations.replies', limited(3))
  const item = { type: 'message', channel: 'C0GEN', ts: '7.1' }
  assert.ok(
    (await deliverUntilAcked(world, callback({ type: 'reaction_added', reaction: 'eyes', item }))) > 1,
  )
  assert.deepEqual(
    world.fixture.store.messages.map(({ conversation }) => conversation),
    ['slack:T0TEAM:C0GEN:6.1'],
  )
})

describe('a name that was known', async () => {
  const server = await startSlackServer()
  after(() => server.close())
  let clock = 0
  const shared = { log: recordingLog([]), now: () => clock }
  const api = createSlackApi({ token: 'xoxb-test', apiUrl: server.apiUrl, timeout: 5000, ...shared })
  const directory = createDirectory({ api, limit: 10, ...shared })
  const calls = () => server.calls.filter(({ method }) => method === 'conversations.info').length
  const name = () => directory.known('channel', 'C1')?.name
  const patience = () => AbortSignal.timeout(5000)

  test('is kept while Slack is in trouble, and renewed when it is not', async () => {
    assert.equal((await directory.channel('C1', patience()))?.name, 'chan-c1')
    clock += 2 * 3_600_000
    server.fail('conversations.info', UNAVAILABLE)
    assert.equal(name(), 'chan-c1')
    await until(() => calls() === 2, 'a second question')
    assert.equal((await directory.channel('C1', patience()))?.name, 'chan-c1')
    clock += 10_000
    server.fail('conversations.info', { body: { ok: true, channel: { name: 'renamed' } } })
    await until(() => name() === 'renamed', 'the new name')
    assert.equal(calls(), 3)
  })

  test('is forgotten when there is no more room', async () => {
    for (let number = 2; number < 14; number++) await directory.channel(`C${number}`, patience())
    assert.equal(directory.known('channel', 'C2'), undefined)
    assert.equal(directory.known('channel', 'C13')?.name, 'chan-c13')
  })
})
