import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { TriviumError } from '../../../src/core/errors.ts'
import { objectAt, textAt } from '../../../src/core/json.ts'
import { assertPrompt } from '../../fixtures/in-time.ts'
import type { Posted } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'
import { callback, type SlackSetup, startSlackGateway } from './harness.ts'

const UNAVAILABLE = Array.from({ length: 50 }, () => ({ status: 500, body: {} }))
let setup: SlackSetup
afterEach(() => setup.close())

const open = async (more: object = {}, context: Parameters<typeof startSlackGateway>[2] = {}) => {
  setup = await startSlackGateway(more, undefined, context)
  return setup
}
/**
 * A unique timestamp of Slack, `age` seconds ago. Gaps are filled only as far back as the options
 * allow.
 */
let count = 0
const ts = (age = 0) => `${Math.floor(Date.now() / 1000) - age}.${String(++count).padStart(6, '0')}`
const texts = () => setup.fixture.store.messages.map((message) => message.text)
const callsOf = (method = 'conversations.history') =>
  setup.server.calls.filter((call) => call.method === method)
const health = () => setup.transport.health().detail ?? ''

/** Writes a message in Slack, without delivering it. */
function written(text: string, more: Partial<Posted> & Record<string, unknown> = {}): Posted {
  const message = { ts: ts(), channel: 'C0GEN', user: 'U1ANN', text, ...more }
  setup.server.write(message)
  return message
}

const deliver = (message: Posted, more: object = {}) =>
  setup.server.sockets.deliver('events_api', callback({ ...message, ...more }), { within: 3000 })

describe('a message that was written while no socket was open', () => {
  test('is accepted once after the next connection, in order, also in threads', async () => {
    const { server } = await open()
    written('before the gateway was started')
    const first = written('first')
    await deliver(first)
    server.sockets.cut()
    const missed = Array.from({ length: 120 }, (_, index) => written(`missed ${index}`).text)
    const answer = written('missed in the thread', { thread_ts: first.ts })
    const late = written('missed, and delivered late')
    await until(() => texts().length === 123, 'the missed messages')
    await deliver(late)
    const roots = texts().filter((text) => text !== answer.text)
    assert.deepEqual([texts().length, roots], [123, ['first', ...missed, late.text]])
  })

  test('is found in a channel with many older messages and a thread that may continue', async () => {
    const { server } = await open()
    await deliver(written('root', { ts: ts(7200) }))
    for (let index = 0; index < 600; index++) written('before', { ts: ts(3600) })
    server.sockets.cut()
    written('missed')
    await until(() => texts().includes('missed'), 'what was missed')
  })

  test('is found although the clock of the daemon is minutes ahead', async () => {
    const { server } = await open({}, { now: () => Date.now() + 300_000 })
    await deliver(written('first'))
    server.sockets.cut()
    written('missed')
    await until(() => texts().includes('missed'), 'what was missed')
  })

  test('may be in a missed thread, or an answer in an old one', async () => {
    const { server } = await open()
    const old = Array.from({ length: 8 }, (_, index) => written(`old ${index}`))
    for (const message of old) await deliver(message)
    server.sockets.cut()
    const root = written('missed root')
    written('missed answer', { thread_ts: root.ts })
    written('missed answer to an old one', { thread_ts: old[0]?.ts ?? '' })
    await until(() => texts().length === 11, 'the missed messages')
    const missed = texts().slice(8)
    assert.ok(missed.includes('missed answer to an old one'))
    assert.ok(missed.indexOf('missed root') < missed.indexOf('missed answer'))
    // The history shows which old messages were answered; only their threads are read.
    const threads = callsOf('conversations.replies').map(({ args }) => args.ts)
    assert.deepEqual(new Set(threads), new Set([root.ts, old[0]?.ts]))
    // A missed thread is remembered for the next gap.
    server.sockets.cut()
    written('later answer', { thread_ts: root.ts })
    await until(() => texts().includes('later answer'), 'the later answer')
  })

  for (const [fault, warnings, ...answers] of [
    ['Slack is unavailable', 1, ...UNAVAILABLE.slice(0, 2)],
    ['Slack limits the rate', 0, { status: 429, headers: { 'retry-after': '1' } }],
    ['the token is revoked', 1, { body: { ok: false, error: 'token_revoked' } }],
  ] as const) {
    test(`is accepted later, after others, if first ${fault}, and health shows the backlog`, async () => {
      const { server, fixture } = await open()
      await deliver(written('first'))
      server.answerNext('conversations.history', ...answers)
      server.sockets.cut()
      written('missed')
      await until(() => /catching up: 1 channel\b/.test(health()), 'the backlog in health')
      await deliver(written('live'))
      await until(() => texts().includes('missed'), 'the missed message')
      assert.deepEqual(texts(), ['first', 'live', 'missed'])
      await until(() => !/catching up/.test(health()), 'health without a backlog')
      const warned = fixture.logs.filter(({ message }) => /could not be read/.test(message))
      assert.equal(warned.length, warnings)
    })
  }

  test("in many channels is read within Slack's rate limits, with the backlog in health, and a stop does not wait for it", async () => {
    const { server, transport } = await open()
    for (let index = 0; index < 25; index++) await deliver(written('first', { channel: `C${index}` }))
    server.sockets.cut()
    const began = performance.now()
    await until(() => /catching up: 5 channels$/.test(health()), 'a pause')
    const maxCalls = 21 + (performance.now() - began) / 2500
    assert.ok(callsOf().length <= maxCalls, `${callsOf().length} calls`)
    const stopBegan = performance.now()
    await transport.stop()
    await new Promise(setImmediate)
    await assertPrompt('the stop', performance.now() - stopBegan, 2_000)
  })

  test('is accepted although another thread was deleted', async () => {
    const { server } = await open()
    await deliver(written('first'))
    await deliver(written('answer', { thread_ts: '1.1' }))
    server.answerNext('conversations.replies', { body: { ok: false, error: 'thread_not_found' } })
    server.sockets.cut()
    written('missed')
    await until(() => texts().includes('missed'), 'what was missed')
  })

  test('is ignored without a mention if Slack delivers only mentions', async () => {
    const { server } = await open()
    await deliver(written('<@U0BOT> first'), { type: 'app_mention' })
    server.sockets.cut()
    written('without a mention')
    written('<@U0BOT> second')
    await until(() => texts().length === 2, 'the missed mention')
    assert.deepEqual(texts(), ['first', 'second'])
  })
})

/** For each message: its text, and the type and channel type of its event. */
const eventKinds = () =>
  setup.fixture.store.messages.map(({ text, data }) => {
    const payload = objectAt(data, 'payload')
    return [text, textAt(payload, 'event.type'), textAt(payload, 'event.channel_type')]
  })

describe('the event of a missed message', () => {
  // The channel id does not show the type: that of a group DM may begin with G or C.
  for (const [channel, type] of [
    ['C0GEN', 'channel'],
    ['C0PRIVATE', 'group'],
    ['G024BE91L', 'mpim'],
    ['D1ANN', 'im'],
  ] as const)
    test(`has the channel type of delivered events in that channel: ${type}`, async () => {
      const { server } = await open()
      await deliver(written('first', { channel }), { channel_type: type })
      server.sockets.cut()
      written('missed', { channel })
      await until(() => texts().length === 2, 'what was missed')
      assert.deepEqual(eventKinds(), [
        ['first', 'message', type],
        ['missed', 'message', type],
      ])
    })

  test('has the channel type that another daemon stored', async () => {
    const first = await open()
    await deliver(written('first'), { channel_type: 'group' })
    await first.transport.stop()
    written('missed')
    await first.another()
    await until(() => texts().length === 2, 'what was missed')
    assert.deepEqual(eventKinds().at(-1), ['missed', 'message', 'group'])
  })

  test('is from a stranger if its channel is shared with other workspaces', async () => {
    const { server } = await open()
    const first = callback({ ...written('first') })
    await server.sockets.deliver('events_api', { ...first, is_ext_shared_channel: true }, { within: 3000 })
    server.sockets.cut()
    written('missed')
    await until(() => texts().length === 2, 'the missed message')
    const [, missed] = setup.fixture.store.messages
    assert.equal(missed?.from.external, true)
  })

  test('has no channel type if it is an app_mention', async () => {
    const { server } = await open()
    await deliver(written('<@U0BOT> first'), { type: 'app_mention', channel_type: undefined })
    server.sockets.cut()
    written('<@U0BOT> second')
    await until(() => texts().length === 2, 'what was missed')
    assert.deepEqual(eventKinds().at(-1), ['second', 'app_mention', undefined])
  })
})

describe('a channel that Slack cannot read', () => {
  for (const error of ['fatal_error', 'missing_scope']) {
    test(`(${error}) does not delay the other channels`, async () => {
      const { server } = await open()
      const broken = ['C0X1', 'C0X2', 'C0X3', 'C0X4']
      for (const channel of ['C0OK', ...broken]) await deliver(written('first', { channel }))
      for (const channel of broken) server.failFor(channel, error)
      server.sockets.cut()
      written('missed', { channel: 'C0OK' })
      await until(() => texts().includes('missed'), 'what was missed')
      const channels = callsOf().map(({ args }) => String(args.channel))
      assert.ok(channels.indexOf('C0OK') > channels.indexOf('C0X4'), 'the broken ones came first')
      // A permanent error ends the attempts.
      if (error === 'missing_scope')
        await until(() => !/catching up/.test(health()), 'health without a backlog')
    })
  }

  test('turns the health of the gateway red after minutes, until it can be read', async () => {
    let ahead = 0
    const { server, transport } = await open({}, { now: () => Date.now() + ahead })
    await deliver(written('first'))
    server.answerNext('conversations.history', ...UNAVAILABLE)
    server.sockets.cut()
    written('missed')
    await until(() => callsOf().length >= 2, 'two attempts')
    await until(() => transport.health().ok, 'a connection')
    ahead = 6 * 60_000
    assert.equal(transport.health().ok, false)
    assert.match(health(), /catching up: 1 channel, failing for 6.*: Slack answered 500/)
    server.heal('conversations.history')
    await until(() => texts().includes('missed') && transport.health().ok, 'green health')
  })
})

describe('a message that was refused', () => {
  test('because the store was down is accepted afterwards, also in new channels', async () => {
    const { fixture } = await open()
    fixture.store.fail()
    for (const channel of ['C0A', 'C0B']) {
      const sent = callback({ ...written('refused', { channel }) })
      const { acked } = await setup.server.sockets.deliver('events_api', sent, { within: 200 })
      assert.equal(acked, false)
    }
    fixture.store.recover()
    await until(() => texts().length === 2, 'the refused messages')
  })

  test('by a daemon that ended is accepted by the next one, although newer messages were accepted', async () => {
    const { server, fixture, transport, another } = await open()
    await deliver(written('first', { ts: ts(600) }))
    const { transport: other } = await another()
    server.answerNext('conversations.history', ...UNAVAILABLE)
    const { accept } = fixture.deps
    fixture.deps.accept = async (message) => {
      if (/[23]$/.test(message.text)) return accept(message)
      throw new TriviumError('store_unavailable', { store: 'test', reason: 'away' })
    }
    const refused: string[] = []
    // Slack delivers to both daemons alternately. Messages 0 and 1 are refused.
    for (let each = 0; each < 4; each++) {
      const message = callback({ ...written(`message ${each}`, { ts: ts(500 - each * 100) }) })
      const { acked } = await server.sockets.deliver('events_api', message, { within: 300 })
      if (!acked) refused.push(`message ${each}`)
    }
    // On a busy machine, an acknowledgement may also be late.
    assert.ok(refused.length >= 1)
    await other.stop()
    await transport.stop()
    server.heal('conversations.history')
    await another()
    await until(() => refused.every((text) => texts().includes(text)), 'the refused messages')
  })

  test('and is older than the gap that its channel waits to fill is accepted too', async () => {
    const { server, fixture } = await open()
    for (let each = 0; each < 21; each++)
      await deliver(written('first', { channel: `C0N${each}`, ts: ts(600) }))
    await deliver(written('newest', { channel: 'C0N20' }))
    server.sockets.cut()
    await until(() => callsOf().length === 20, 'the calls that the rate limit allows')
    fixture.store.fail()
    const sent = callback({ ...written('refused', { channel: 'C0N0', ts: ts(300) }) })
    assert.equal((await server.sockets.deliver('events_api', sent, { within: 200 })).acked, false)
    fixture.store.recover()
    await until(() => texts().includes('refused'), 'the refused message')
  })

  test('because of a slow file does not delay others, and is accepted once, with its file', async () => {
    const { server, fixture, transport } = await open()
    const { artifacts } = fixture.deps
    const { save } = artifacts
    const download = Promise.withResolvers<void>()
    artifacts.save = async (...args) => download.promise.then(() => save(...args))
    const file = { id: 'F9', name: 'notes.txt', mimetype: 'text/plain', url_private: server.file('f', 'top') }
    await deliver(written('first', { channel: 'C0B' }))
    const slow = written('slow', { channel: 'C0A', subtype: 'file_share', files: [file] })
    assert.equal((await deliver(slow)).acked, false)
    await until(() => callsOf().length > 0, 'an attempt that waits for the file')
    server.sockets.cut()
    written('missed', { channel: 'C0B' })
    written('quick', { channel: 'C0A' })
    await until(() => texts().includes('missed') && texts().includes('quick'), 'what was missed')
    assert.ok(!texts().includes('slow'))
    download.resolve()
    await until(() => !/catching up/.test(transport.health().detail ?? ''), 'the end')
    const accepted = fixture.store.messages.filter(({ text }) => text === 'slow')
    assert.deepEqual(
      accepted.map(({ attachments }) => attachments.length),
      [1],
    )
  })
})
