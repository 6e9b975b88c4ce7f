import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { until } from '../../fixtures/until.ts'
import { callback, deliverEvent, replyTo, startWorld, type World } from './harness.ts'

/** For what becomes deaf; elsewhere a busy machine would look like a deaf socket. */
const FAST = { ping: 60 }
let world: World
afterEach(() => world.close())

const event = (text: string, id?: string) => callback({ text, ts: world.server.nextTs() }, id)
const connected = () => /^connected/.test(world.transport.health().detail ?? '')

describe('a socket', () => {
  test('that falls silent without closing is noticed, told of in health, and replaced', async () => {
    world = await startWorld(FAST)
    const { sockets } = world.server
    world.server.fail('apps.connections.open', {}, {})
    sockets.goSilent()
    await until(() => !world.transport.health().ok, 'health that is red')
    assert.match(world.transport.health().detail ?? '', /not connected/)
    assert.equal((await sockets.deliver('events_api', event('after'))).acked, true)
    assert.equal(world.transport.health().ok, true)
  })

  test('of which Slack has lost sight is replaced, though it answers pings', async () => {
    world = await startWorld(FAST)
    // The server has to have pinged once, or its pings cannot be missed.
    await until(() => world.server.sockets.pings() > 0, "a ping of Slack's")
    const before = world.server.sockets.opened()
    world.server.sockets.stopPinging()
    await until(() => world.server.sockets.opened() > before && connected(), 'another socket')
  })

  test('that brings no event for longer than allowed is replaced', async () => {
    world = await startWorld({ ping: 50, 'max-silence': '200ms' })
    await until(() => world.server.sockets.opened() >= 2 && connected(), 'a second socket')
  })

  test('that Slack wants to renew is closed before the next one is opened', async () => {
    world = await startWorld()
    for (const reason of ['warning', 'refresh_requested']) {
      const before = world.server.sockets.opened()
      world.server.sockets.disconnect(reason)
      await until(() => world.server.sockets.opened() > before && connected(), `a socket after ${reason}`)
    }
    assert.equal(world.server.sockets.mostOpen(), 1)
  })

  test('that Slack renews still acknowledges what came over it', async () => {
    world = await startWorld()
    const release = world.fixture.store.hold()
    const pending = world.server.sockets.deliver('events_api', event('slow'))
    await until(() => world.fixture.store.calls > 0, 'the call of accept')
    world.server.sockets.disconnect('refresh_requested')
    await until(() => !connected(), 'the old socket to be left')
    release()
    assert.equal((await pending).acked, true)
  })

  test('that is refused as one too many turns health red, with the reason', async () => {
    world = await startWorld()
    for (let times = 0; times < 3; times++) world.server.sockets.refuseNext('too_many_websockets')
    world.server.sockets.cut()
    await until(
      () => /too_many_websockets/.test(world.transport.health().detail ?? ''),
      'health that says why',
    )
    assert.equal(world.transport.health().ok, false)
  })

  test('that ends right after its hello, again and again, is asked for less and less, and health is red', async () => {
    world = await startWorld()
    const { sockets } = world.server
    sockets.endAtOnce('refresh_requested')
    sockets.cut()
    await until(() => !world.transport.health().ok, 'health that is red')
    assert.match(world.transport.health().detail ?? '', /^not connected: .*3 sockets in a row/)
    const before = sockets.opened()
    assert.ok(before <= 6, `${before} sockets`)
    await until(() => sockets.opened() > before, 'the next socket')
    assert.equal(world.transport.health().ok, false)
    sockets.endAtOnce(undefined)
    await until(() => sockets.open() === 0, 'the end of the last brief socket')
    // By now the next one may be asked for as late as after 16 s.
    const deliver = () =>
      sockets.deliver('events_api', event('at last'), { within: 3000, socketWithin: 30_000 })
    await until(async () => (await deliver()).acked, 'an event over a socket that lasts')
    assert.ok(connected())
  })
})

test('a gateway that stops does not wait for a file that does not come, and leaves its message to Slack', async () => {
  world = await startWorld()
  const { server, transport, fixture } = world
  const file = { id: 'F1', name: 'big', url_private_download: server.stuckFile }
  const shared = callback({ subtype: 'file_share', text: 'see', ts: server.nextTs(), files: [file] })
  const delivery = server.sockets.deliver('events_api', shared, { within: 4000 })
  await until(() => server.downloads() > 0, 'the download to begin')
  await transport.stop()
  assert.equal(fixture.store.calls, 0)
  assert.equal((await delivery).acked, false)
})

test('a gateway hears its other workspaces though one has removed the app, and says so', async () => {
  world = await startWorld({ 'bot-token': ['xoxb-test', 'xoxb-gone'] })
  world.server.fail('auth.test', { body: { ok: false, error: 'token_revoked' } })
  const { transport } = await world.another()
  assert.equal(transport.health().ok, false)
  assert.match(
    transport.health().detail ?? '',
    /^connected.*one of 2 bot tokens does not work: token_revoked/,
  )
  const failed = (await transport.check()).filter(({ ok }) => !ok)
  assert.match(failed[0]?.detail ?? '', /token_revoked.*install the app again/)
  assert.ok((await world.server.sockets.deliver('events_api', event('hello'))).acked)
})

test('a gateway whose token Slack does not accept any more says so, until a call works again', async () => {
  world = await startWorld()
  const { server, transport } = world
  const message = await deliverEvent(world, { text: 'hello' })
  const reply = replyTo(message, 'one')
  for (const error of ['token_revoked', 'account_inactive', 'is_archived']) {
    server.fail('chat.postMessage', { body: { ok: false, error } })
    await assert.rejects(transport.send(reply))
    const { ok, detail = '' } = transport.health()
    assert.equal(ok, false)
    assert.match(detail, /the bot token of T0TEAM does not work: (token_revoked|account_inactive)/)
  }
  await transport.send(reply)
  assert.equal(transport.health().ok, true)
})

test('a gateway whose Slack is away at the start connects when it is back', async () => {
  world = await startWorld()
  world.server.fail('auth.test', { hangUp: true }, { status: 503, body: {} })
  const late = await world.another()
  assert.equal(late.transport.health().ok, true)
  assert.match(JSON.stringify(late.fixture.logs), /trying again/)
})
