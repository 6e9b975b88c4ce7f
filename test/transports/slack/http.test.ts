import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createEmulator, type Emulator } from 'emulate'
import type { JsonObject } from '../../../src/core/json.ts'
import type { Transport } from '../../../src/core/transport.ts'
import { slack } from '../../../transports/slack/index.ts'
import { slackOptions } from '../../../transports/slack/options.ts'
import { freePort } from '../../fixtures/dovecot.ts'
import { startTransportFixture, type TransportFixture } from '../../fixtures/transport-deps.ts'
import { until } from '../../fixtures/until.ts'
import { replyTo, signed } from './harness.ts'

const SECRET = 'shhh'
const TEAM = 'T000000001'
const CHANNEL = 'C000000001'
let emulator: Emulator
let fixture: TransportFixture
let transport: Transport

before(async () => {
  emulator = await createEmulator({
    service: 'slack',
    port: await freePort(),
    seed: { slack: { tokens: [{ token: 'xoxb-test', type: 'bot', bot_user_id: 'U0BOT', bot_id: 'B0BOT' }] } },
  })
  fixture = await startTransportFixture({
    gateway: 'team',
    ask: async (skill, { action, typed }) => [`${action} by ${skill}: ${typed}`],
  })
  const tokens = {
    'bot-token': 'xoxb-test',
    'signing-secret': [SECRET, 'next'],
    'api-url': `${emulator.url}/api/`,
  }
  const options = { mode: 'http', ...tokens, progress: 'off', answers: { city: 'find' } }
  transport = await slack.create(slackOptions.parse(options), fixture.deps)
  await transport.start()
  await until(() => /^listening/.test(transport.health().detail ?? ''), 'the listener')
})
after(async () => {
  await transport.stop()
  await transport.close()
  await fixture.close()
  await emulator.close()
})

describe('requests of Slack', () => {
  test('are answered with the challenge when Slack verifies the URL', async () => {
    assert.match(transport.health().detail ?? '', /, no event since the start$/)
    const { status, body } = await post(JSON.stringify({ type: 'url_verification', challenge: 'c3' }))
    assert.match(transport.health().detail ?? '', /, last event \d+ (?:s|min) ago$/)
    assert.deepEqual([status, JSON.parse(body)], [200, { challenge: 'c3' }])
  })

  test('by which Slack checks the certificate are answered, and become no message', async () => {
    const calls = fixture.store.acceptCalls
    const { status, body } = await form({ ssl_check: '1', token: 'old-verification-token' })
    assert.deepEqual([status, body, fixture.store.acceptCalls], [200, '', calls])
  })

  test('with a wrong signature, an old timestamp or none are refused', async () => {
    const event = JSON.stringify(message({ text: 'x', ts: '1.1' }))
    const calls = fixture.store.acceptCalls
    assert.equal((await post(event, { secret: 'wrong' })).status, 401)
    assert.equal((await post(event, { at: Date.now() / 1000 - 400 })).status, 401)
    assert.equal((await fetch(`${fixture.url}/slack/events`, { method: 'POST', body: event })).status, 401)
    assert.equal(fixture.store.acceptCalls, calls)
  })

  test('may be slash commands and interactions', async () => {
    const typed = { command: '/ask', text: 'a & b', user_id: 'U1', channel_id: CHANNEL, team_id: TEAM }
    assert.equal((await form({ ...typed, trigger_id: 't1' })).status, 200)
    assert.equal(fixture.store.messages.at(-1)?.text, 'a & b')
    const values = { a: { b: { value: 'good' } } }
    const view = { id: 'V1', hash: 'h', callback_id: 'feedback', state: { values } }
    assert.equal((await interaction({ type: 'view_submission', view })).status, 200)
    assert.deepEqual(fixture.store.messages.at(-1)?.data.values, values)
  })

  test('for the options of a select are answered by its configured skill', async () => {
    const { status, body } = await interaction({ type: 'block_suggestion', action_id: 'city', value: 'be' })
    const options = [{ text: { type: 'plain_text', text: 'city by find: be' }, value: 'city by find: be' }]
    assert.deepEqual([status, JSON.parse(body)], [200, { options }])
  })
})

describe('on an emulated Slack', () => {
  test('a reply is in the thread of its message, and is sent once even if the daemon lost its records', async () => {
    const root = await api('chat.postMessage', { channel: CHANNEL, text: 'hello bot' })
    const ts = String(root.ts)
    await post(JSON.stringify(message({ text: 'hello bot', ts })))
    const question = fixture.store.messages.find((each) => each.data.ts === ts)
    assert.ok(question)
    const reply = replyTo(question, 'hello **Ann**')
    const receipt = await transport.send(reply)
    const { kv } = fixture.store
    for (const key of (await kv.list('slack/team/', 1000)).items) await kv.delete(key)
    await transport.probe?.(reply)
    await transport.send(reply)
    const { messages } = await api('conversations.replies', { channel: CHANNEL, ts })
    assert.ok(Array.isArray(messages))
    assert.deepEqual(
      messages.slice(1).map((each) => [Object(each).text, Object(each).ts]),
      [['hello Ann', receipt.id.split('/')[1]]],
    )
  })
})

function message(event: JsonObject): JsonObject {
  const full = { type: 'message', channel: CHANNEL, channel_type: 'channel', user: 'U1', ...event }
  return { type: 'event_callback', team_id: TEAM, event_id: `Ev${event.ts}`, event: full }
}

async function post(body: string, options: { secret?: string; at?: number; type?: string } = {}) {
  const headers = {
    'content-type': options.type ?? 'application/json',
    ...signed(body, options.secret ?? SECRET, options.at),
  }
  const response = await fetch(`${fixture.url}/slack/events`, { method: 'POST', headers, body })
  return { status: response.status, body: await response.text() }
}

const form = (fields: Record<string, string>) =>
  post(String(new URLSearchParams(fields)), { type: 'application/x-www-form-urlencoded' })
const interaction = (payload: JsonObject) =>
  form({ payload: JSON.stringify({ team: { id: TEAM }, user: { id: 'U1' }, ...payload }) })

async function api(method: string, args: JsonObject): Promise<JsonObject> {
  const response = await fetch(`${emulator.url}/api/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer xoxb-test' },
    body: JSON.stringify(args),
  })
  return Object(await response.json())
}
