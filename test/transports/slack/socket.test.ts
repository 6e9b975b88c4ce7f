import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { until } from '../../fixtures/until.ts'
import { callback, deliverEvent, replyTo, type SlackSetup, startSlackGateway } from './harness.ts'

/**
 * A short ping interval for sockets that fall silent. In other tests, a busy machine would look
 * like a silent socket.
 */
const FAST = { ping: 60 }
let setup: SlackSetup
afterEach(() => setup.close())

const event = (text: string, id?: string) => callback({ text, ts: setup.server.nextTs() }, id)
const connected = () => /^connected/.test(setup.transport.health().detail ?? '')

describe('a socket', () => {
  test('that falls silent without closing turns health red, and is replaced', async () => {
    setup = await startSlackGateway(FAST)
    const { sockets } = setup.server
    setup.server.answerNext('apps.connections.open', {}, {})
    sockets.goSilent()
    await until(() => !setup.transport.health().ok, 'red health')
    assert.match(setup.transport.health().detail ?? '', /not connected/)
    assert.equal((await sockets.deliver('events_api', event('after'))).acked, true)
    assert.equal(setup.transport.health().ok, true)
  })

  test('on which Slack sends no more pings is replaced, although it answers pings', async () => {
    setup = await startSlackGateway(FAST)
    // The gateway expects pings only after the first one.
    await until(() => setup.server.sockets.pings() > 0, "a ping of Slack's")
    const before = setup.server.sockets.opened()
    setup.server.sockets.stopPinging()
    await until(() => setup.server.sockets.opened() > before && connected(), 'another socket')
  })

  test('without events for longer than `max-silence` is replaced', async () => {
    setup = await startSlackGateway({ ping: 50, 'max-silence': '200ms' })
    await until(() => setup.server.sockets.opened() >= 2 && connected(), 'a second socket')
  })

  test('that Slack wants to renew is closed before the next one is opened', async () => {
    setup = await startSlackGateway()
    for (const reason of ['warning', 'refresh_requested']) {
      const before = setup.server.sockets.opened()
      setup.server.sockets.disconnect(reason)
      await until(() => setup.server.sockets.opened() > before && connected(), `a socket after ${reason}`)
    }
    assert.equal(setup.server.sockets.mostOpen(), 1)
  })

  test('that Slack renews still acknowledges its events', async () => {
    setup = await startSlackGateway()
    const release = setup.fixture.store.hold()
    const pending = setup.server.sockets.deliver('events_api', event('slow'))
    await until(() => setup.fixture.store.acceptCalls > 0, 'the call of accept')
    setup.server.sockets.disconnect('refresh_requested')
    await until(() => !connected(), 'the end of the old socket')
    release()
    assert.equal((await pending).acked, true)
  })

  test('that is refused as one too many turns health red, with the reason', async () => {
    setup = await startSlackGateway()
    for (let times = 0; times < 3; times++) setup.server.sockets.refuseNext('too_many_websockets')
    setup.server.sockets.cut()
    await until(
      () => /too_many_websockets/.test(setup.transport.health().detail ?? ''),
      'the reason in health',
    )
    assert.equal(setup.transport.health().ok, false)
  })

  test('that repeatedly ends right after its hello is requested with backoff, and turns health red', async () => {
    setup = await startSlackGateway()
    const { sockets } = setup.server
    sockets.endAtOnce('refresh_requested')
    sockets.cut()
    await until(() => !setup.transport.health().ok, 'red health')
    assert.match(setup.transport.health().detail ?? '', /^not connected: .*3 sockets in a row/)
    const before = sockets.opened()
    assert.ok(before <= 6, `${before} sockets`)
    await until(() => sockets.opened() > before, 'the next socket')
    assert.equal(setup.transport.health().ok, false)
    sockets.endAtOnce(undefined)
    await until(() => sockets.open() === 0, 'the end of the last brief socket')
    // The backoff may have grown to 16 s.
    const deliver = () =>
      sockets.deliver('events_api', event('at last'), { within: 3000, socketWithin: 30_000 })
    await until(async () => (await deliver()).acked, 'an event over a socket that lasts')
    assert.ok(connected())
  })
})

test('a gateway that stops does not wait for a slow file, and leaves its message to a redelivery', async () => {
  setup = await startSlackGateway()
  const { server, transport, fixture } = setup
  const file = { id: 'F1', name: 'big', url_private_download: server.stuckFile }
  const shared = callback({ subtype: 'file_share', text: 'see', ts: server.nextTs(), files: [file] })
  const delivery = server.sockets.deliver('events_api', shared, { within: 4000 })
  await until(() => server.downloads() > 0, 'the download to begin')
  await transport.stop()
  assert.equal(fixture.store.acceptCalls, 0)
  assert.equal((await delivery).acked, false)
})

test('a gateway serves its other workspaces if one has removed the app, and health shows it', async () => {
  setup = await startSlackGateway({ 'bot-token': ['xoxb-test', 'xoxb-gone'] })
  setup.server.answerNext('auth.test', { body: { ok: false, error: 'token_revoked' } })
  const { transport } = await setup.another()
  assert.equal(transport.health().ok, false)
  assert.match(
    transport.health().detail ?? '',
    /^connected.*one of 2 bot tokens does not work: token_revoked/,
  )
  const failed = (await transport.check()).filter(({ ok }) => !ok)
  assert.match(failed[0]?.detail ?? '', /token_revoked.*install the app again/)
  assert.ok((await setup.server.sockets.deliver('events_api', event('hello'))).acked)
})

test('a revoked token turns health red until a call succeeds', async () => {
  setup = await startSlackGateway()
  const { server, transport } = setup
  const message = await deliverEvent(setup, { text: 'hello' })
  const reply = replyTo(message, 'one')
  for (const error of ['token_revoked', 'account_inactive', 'is_archived']) {
    server.answerNext('chat.postMessage', { body: { ok: false, error } })
    await assert.rejects(transport.send(reply))
    const { ok, detail = '' } = transport.health()
    assert.equal(ok, false)
    assert.match(detail, /the bot token of T0TEAM does not work: (token_revoked|account_inactive)/)
  }
  await transport.send(reply)
  assert.equal(transport.health().ok, true)
})

test('a gateway connects later if Slack is unavailable at the start', async () => {
  setup = await startSlackGateway()
  setup.server.answerNext('auth.test', { hangUp: true }, { status: 503, body: {} })
  const late = await setup.another()
  assert.equal(late.transport.health().ok, true)
  assert.match(JSON.stringify(late.fixture.logs), /trying again/)
})
