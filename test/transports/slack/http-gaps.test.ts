import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { afterEach, beforeEach, describe, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import type { Transport } from '../../../src/core/transport.ts'
import { slack } from '../../../transports/slack/index.ts'
import { slackOptions } from '../../../transports/slack/options.ts'
import { type SlackServer, startSlackServer } from '../../fixtures/slack-server.ts'
import { startTransportFixture, type TransportFixture } from '../../fixtures/transport-deps.ts'
import { until } from '../../fixtures/until.ts'
import { callback } from './harness.ts'

const SECRET = 'shhh'
let server: SlackServer
let fixture: TransportFixture
let transport: Transport
/** By how much the gateway's clock is put forward (ms). */
let ahead = 0

beforeEach(async () => {
  server = await startSlackServer()
  ahead = 0
  fixture = await startTransportFixture({ gateway: 'team', now: () => Date.now() + ahead })
  await begin()
})
afterEach(async () => {
  await end()
  await fixture.close()
  await server.close()
})

describe('in HTTP mode, what Slack did not deliver', () => {
  test('while nobody listened is read after the start', async () => {
    assert.equal(await post(callback(written('first'))), 200)
    await end()
    written('missed')
    await begin()
    await until(() => texts().length === 2, 'what was missed')
    assert.deepEqual(texts(), ['first', 'missed'])
  })

  test('again after it was refused is read once the store is back', async () => {
    fixture.store.fail()
    assert.equal(await post(callback(written('refused'))), 503)
    assert.equal(await post(callback(written('refused in another channel', 'C0OTHER'))), 503)
    fixture.store.recover()
    await until(() => texts().length === 2, 'what was refused')
    assert.deepEqual(texts().sort(), ['refused', 'refused in another channel'])
  })

  test('again after it was refused is read after a restart, though others were heard in between', async () => {
    assert.equal(await post(callback(written('first'))), 200)
    server.fail('conversations.history', ...Array.from({ length: 50 }, () => ({ status: 500, body: {} })))
    fixture.store.fail()
    assert.equal(await post(callback(written('refused'))), 503)
    fixture.store.recover()
    assert.equal(await post(callback(written('next'))), 200)
    await end()
    server.heal('conversations.history')
    await begin()
    await until(() => texts().length === 3, 'what was refused')
    assert.deepEqual(texts(), ['first', 'next', 'refused'])
  })
})

test('a channel that cannot be read for minutes makes the gateway red, until it can', async () => {
  server.fail('conversations.history', ...Array.from({ length: 50 }, () => ({ status: 500, body: {} })))
  fixture.store.fail()
  assert.equal(await post(callback(written('refused'))), 503)
  fixture.store.recover()
  const asked = () => server.calls.filter(({ method }) => method === 'conversations.history').length
  await until(() => asked() >= 2, 'two attempts')
  assert.equal(transport.health().ok, true)
  ahead = 6 * 60_000
  const { ok, detail } = transport.health()
  assert.equal(ok, false)
  assert.match(detail ?? '', /catching up: 1 channel, failing for 6.*: Slack answered 500/)
  server.heal('conversations.history')
  await until(() => transport.health().ok, 'green health', 10_000)
  assert.deepEqual(texts(), ['refused'])
})

let count = 0

function written(text: string, channel = 'C0GEN') {
  const ts = `${Math.floor(Date.now() / 1000)}.${String(++count).padStart(6, '0')}`
  const message = { ts, channel, user: 'U1ANN', text }
  server.write(message)
  return message
}

function texts(): string[] {
  return fixture.store.messages.map((message) => message.text)
}

async function begin(): Promise<void> {
  const { apiUrl } = server
  const options = { mode: 'http', botToken: 'xoxb-test', signingSecret: SECRET, apiUrl, progress: 'off' }
  transport = slack.create(slackOptions.parse(options), fixture.deps)
  await transport.start()
  await until(() => /^listening/.test(transport.health().detail ?? ''), 'the listener')
}

async function end(): Promise<void> {
  await transport.stop()
  await transport.close()
}

async function post(payload: JsonObject): Promise<number> {
  const body = JSON.stringify(payload)
  const at = Math.floor(Date.now() / 1000)
  const signature = createHmac('sha256', SECRET).update(`v0:${at}:${body}`).digest('hex')
  const answer = await fetch(`${fixture.url}/slack/events`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-slack-request-timestamp': String(at),
      'x-slack-signature': `v0=${signature}`,
    },
    body,
  })
  return answer.status
}
