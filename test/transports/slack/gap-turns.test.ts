import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { slack } from '../../../transports/slack/index.ts'
import { type Posted, type SlackServer, startSlackServer } from '../../fixtures/slack-server.ts'
import { startTransportFixture } from '../../fixtures/transport-deps.ts'
import { until } from '../../fixtures/until.ts'
import { callback, deliverEvent, socketOptions, startWorld, type World } from './harness.ts'

let world: Pick<World, 'server' | 'fixture' | 'transport' | 'close'>
afterEach(() => world.close())

let count = 0
const ts = (age = 0) => `${Math.floor(Date.now() / 1000) - age}.${String(++count).padStart(6, '0')}`
const texts = () => world.fixture.store.messages.map((message) => message.text)
const asked = () =>
  world.server.calls
    .filter(({ method }) => method === 'conversations.history')
    .map(({ args }) => String(args.channel))

function written(text: string, more: Partial<Posted> & JsonObject = {}): Posted {
  const message = { ts: ts(), channel: 'C0GEN', user: 'U1ANN', text, ...more }
  world.server.write(message)
  return message
}

describe('a channel that Slack cannot read', () => {
  test('does not keep the others waiting, however many there are', async () => {
    world = await startWorld({ ping: 60 })
    const broken = ['C0X1', 'C0X2', 'C0X3', 'C0X4']
    for (const channel of ['C0OK', ...broken]) await deliverEvent(world, { ...written('first', { channel }) })
    for (const channel of broken) world.server.failFor(channel, 'fatal_error')
    world.server.sockets.cut()
    written('missed', { channel: 'C0OK' })
    await until(() => texts().includes('missed'), 'what was missed', 10_000)
    assert.ok(asked().indexOf('C0OK') > asked().indexOf('C0X4'), 'the broken ones came first')
  })
})

describe('a workspace whose token was revoked', () => {
  test('does not keep the others waiting', async () => {
    world = await twoWorkspaces()
    const { server } = world
    const first = async (team: string, channel: string) => {
      const event = callback({ ...written('first', { channel }) })
      const ours = { ...event, team_id: team, authorizations: [] }
      assert.ok((await server.sockets.deliver('events_api', ours)).acked)
    }
    await first('T2', 'C2A')
    const revoked = ['C1A', 'C1B', 'C1C']
    for (const channel of revoked) {
      await first('T1', channel)
      server.failFor(channel, 'token_revoked')
    }
    server.sockets.cut()
    written('missed', { channel: 'C2A' })
    await until(() => texts().includes('missed'), 'what was missed', 5000)
    const tries = asked().filter((channel) => revoked.includes(channel)).length
    assert.ok(tries <= 1, `${tries} calls with a token that does not work`)
  })
})

describe('a message that is refused because of a slow file', () => {
  test('does not keep other channels waiting, and is taken once, with its file', async () => {
    world = await startWorld({ ping: 60 })
    const { server, fixture } = world
    const { artifacts } = fixture.deps
    const { save } = artifacts
    const { promise: isThere, resolve: arrive } = Promise.withResolvers<void>()
    artifacts.save = async (...args) => {
      await isThere
      return save(...args)
    }
    await deliverEvent(world, { ...written('first', { channel: 'C0B' }) })
    const url_private = server.file('notes.txt', 'top')
    const files = [{ id: 'F9', name: 'notes.txt', mimetype: 'text/plain', url_private }]
    const slow = written('slow', { channel: 'C0A', subtype: 'file_share', files })
    const event = callback({ ...slow })
    assert.equal((await server.sockets.deliver('events_api', event, { within: 3000 })).acked, false)
    await until(() => asked().includes('C0A'), 'a fill that waits for the file')
    server.sockets.cut()
    written('missed', { channel: 'C0B' })
    await until(() => texts().includes('missed'), 'what was missed', 5000)
    assert.ok(!texts().includes('slow'), 'it is left to Slack')
    arrive()
    assert.ok((await server.sockets.deliver('events_api', event, { retry: 1 })).acked)
    await until(() => world.transport.health().detail?.includes('catching up') === false, 'the end', 20_000)
    const found = fixture.store.messages.filter(({ text }) => text === 'slow')
    assert.deepEqual(
      found.map(({ attachments }) => attachments.length),
      [1],
    )
  })

  test('is read with its file where Slack does not deliver it again', async () => {
    world = await startWorld({ ping: 60 })
    const { server, fixture } = world
    const { artifacts } = fixture.deps
    const { save } = artifacts
    const { promise: isThere, resolve: arrive } = Promise.withResolvers<void>()
    artifacts.save = async (...args) => {
      await isThere
      return save(...args)
    }
    await deliverEvent(world, { ...written('first') })
    server.sockets.cut()
    const url_private = server.file('notes.txt', 'top')
    const files = [{ id: 'F9', name: 'notes.txt', mimetype: 'text/plain', url_private }]
    written('slow', { subtype: 'file_share', files })
    written('quick')
    await until(() => texts().includes('quick'), 'what came after it', 5000)
    arrive()
    await until(() => texts().includes('slow'), 'the message with its file', 15_000)
    assert.equal(fixture.store.messages.at(-1)?.attachments.length, 1)
  })
})

describe('when Slack renews the socket', () => {
  test('only channels that were active lately are looked at', async () => {
    world = await startWorld({ ping: 60 })
    const { server } = world
    for (let index = 0; index < 5; index++) {
      await deliverEvent(world, { ...written('old', { channel: `C0OLD${index}`, ts: ts(7200) }) })
    }
    for (let index = 0; index < 25; index++) {
      await deliverEvent(world, { ...written('first', { channel: `C0NEW${index}` }) })
    }
    const before = server.sockets.opened()
    server.sockets.disconnect('refresh_requested')
    await until(() => server.sockets.opened() > before, 'a new socket')
    written('missed', { channel: 'C0NEW24' })
    await until(() => /^connected/.test(world.transport.health().detail ?? ''), 'a connection')
    await until(() => world.transport.health().detail?.includes('catching up') === false, 'the end')
    assert.equal(asked().length, 20)
    assert.ok(!asked().some((channel) => channel.startsWith('C0OLD')))
  })

  test('and no other is to be had for a while, all channels are read', async () => {
    let ahead = 0
    world = await connected(await startSlackServer(), {}, () => Date.now() + ahead)
    const { server } = world
    await deliverEvent(world, { ...written('old', { channel: 'C0OLD', ts: ts(7200) }) })
    server.fail('apps.connections.open', { status: 500, body: {} })
    server.sockets.disconnect('refresh_requested')
    await until(() => server.sockets.open() === 0, 'the end of the socket')
    ahead = 60_000
    written('missed', { channel: 'C0OLD' })
    await until(() => texts().includes('missed'), 'what was missed')
  })
})

describe('after an outage', () => {
  test('the channels that were active lately come first, and one daemon reads the others', async () => {
    world = await startWorld({ ping: 60 })
    const { server, fixture } = world
    const { leases } = fixture.store
    for (const [channel, age] of [
      ['C0NEW', 0],
      ['C0OLD', 7200],
    ] as const) {
      await deliverEvent(world, { ...written('first', { channel, ts: ts(age) }) })
    }
    await leases.acquire('slack/team/fill/T0TEAM', 'another daemon', 60_000)
    server.sockets.cut()
    written('missed', { channel: 'C0NEW' })
    await until(() => /catching up: 1 channel$/.test(world.transport.health().detail ?? ''), 'one that waits')
    assert.deepEqual([texts().at(-1), asked()], ['missed', ['C0NEW']])
    await leases.release('slack/team/fill/T0TEAM', 'another daemon')
    // Any change has those who wait look again.
    server.sockets.cut()
    await until(() => asked().includes('C0OLD'), 'the other channel')
  })
})

/** One app, installed in the workspaces T1 and T2. */
async function twoWorkspaces(): Promise<typeof world> {
  const server = await startSlackServer()
  const who = (team: string) => ({
    body: { ok: true, team, team_id: team, user_id: 'U0BOT', bot_id: 'B0BOT' },
  })
  server.fail('auth.test', who('T1'), who('T2'))
  return connected(server, { botToken: ['xoxb-one', 'xoxb-two'] })
}

/** A gateway on this Slack whose clock a test may put forward. */
async function connected(server: SlackServer, more: object = {}, now = Date.now): Promise<typeof world> {
  const fixture = await startTransportFixture({ gateway: 'team', now })
  const transport = slack.create(socketOptions(server, { ping: 60, ...more }), fixture.deps)
  await transport.start()
  await until(() => /^connected/.test(transport.health().detail ?? ''), 'a connection')
  return {
    server,
    fixture,
    transport,
    async close() {
      await transport.stop()
      await transport.close()
      await fixture.close()
      await server.close()
    },
  }
}
