import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import type { Message } from '../../../src/core/message.ts'
import { slack } from '../../../transports/slack/index.ts'
import { startSlackServer } from '../../fixtures/slack-server.ts'
import { startTransportFixture } from '../../fixtures/transport-deps.ts'
import { until } from '../../fixtures/until.ts'
import { callback, deliverEvent, replyTo, socketOptions, startWorld } from './harness.ts'

const world = await startWorld({ 'allow-bots': true })
after(() => world.close())
const { server, fixture } = world

/** Delivers a callback, which must be acknowledged, and resolves with the messages that became of it. */
async function taken(payload: JsonObject, type = 'events_api'): Promise<Message[]> {
  const before = fixture.store.messages.length
  assert.ok((await server.sockets.deliver(type, payload)).acked)
  return fixture.store.messages.slice(before)
}

const edit = (ts: string, text: string, before: string, more: JsonObject = {}) =>
  callback({
    subtype: 'message_changed',
    ts: server.nextTs(),
    message: { user: 'U1ANN', ts, text, edited: { user: 'U1ANN', ts: server.nextTs() } },
    previous_message: { user: 'U1ANN', ts, text: before },
    ...more,
  })
const mentioned = (ts: string, text: string) =>
  callback({ type: 'app_mention', ts, text, edited: { user: 'U1ANN', ts: server.nextTs() } })

describe('an edit', () => {
  test('that adds a mention is for the bot, once, however Slack tells of it', async () => {
    const ts = server.nextTs()
    assert.equal((await taken(callback({ ts, text: 'help me' }))).length, 1)
    const [message, ...more] = await taken(edit(ts, '<@U0BOT> help me', 'help me'))
    assert.deepEqual(
      [message?.text, message?.data.mention, message?.data.notice],
      ['help me', true, undefined],
    )
    assert.deepEqual(message?.data.event, ['app_mention', 'message', 'message_changed'])
    assert.deepEqual([more.length, message?.conversation], [0, `slack:T0TEAM:C0GEN:${ts}`])
    assert.equal((await taken(mentioned(ts, '<@U0BOT> help me'))).length, 0)
  })

  test('of a message that was never seen is taken once as well', async () => {
    const ts = server.nextTs()
    assert.equal((await taken(mentioned(ts, '<@U0BOT> help'))).length, 1)
    assert.equal((await taken(edit(ts, '<@U0BOT> help', 'help'))).length, 0)
    // Read back after a lost connection, where the edited text is all there is.
    assert.equal((await taken(callback({ ts, text: '<@U0BOT> help' }))).length, 0)
  })

  test('of a message that mentioned the bot before is a notice', async () => {
    const ts = server.nextTs()
    assert.equal((await taken(callback({ ts, text: '<@U0BOT> helo' }))).length, 1)
    const [message] = await taken(edit(ts, '<@U0BOT> hello', '<@U0BOT> helo'))
    assert.deepEqual([message?.data.event, message?.data.notice], ['message_changed', true])
    assert.equal((await taken(mentioned(ts, '<@U0BOT> hello'))).length, 0)
  })

  test('of what was written directly is a notice, for it has its answer', async () => {
    const ts = server.nextTs()
    const direct = { channel: 'D0ANN', channel_type: 'im' }
    await taken(callback({ ts, text: 'help', ...direct }))
    const [message] = await taken(edit(ts, '<@U0BOT> help', 'help', direct))
    assert.deepEqual([message?.data.event, message?.data.notice], ['message_changed', true])
    // Read back after a lost connection.
    assert.equal((await taken(callback({ ts, text: '<@U0BOT> help', ...direct }))).length, 0)
  })
})

test('a deleted root of a thread is a deletion, though Slack calls it a change', async () => {
  const ts = server.nextTs()
  const stone = {
    subtype: 'tombstone',
    user: 'USLACKBOT',
    text: 'This message was deleted.',
    ts,
    thread_ts: ts,
  }
  const root = { user: 'U1ANN', text: 'parent', ts, thread_ts: ts, reply_count: 1 }
  const changed = { subtype: 'message_changed', ts: server.nextTs(), message: stone, previous_message: root }
  const [message] = await taken(callback(changed))
  assert.deepEqual(
    [message?.data.event, message?.data.ts, message?.data.previousText, message?.from.id, message?.text],
    ['message_deleted', ts, 'parent', 'U1ANN', ''],
  )
})

test('a mention of somebody whose id begins as that of the bot is none', async () => {
  const message = await deliverEvent(world, { text: 'ask <@U0BOT2X> please' })
  assert.deepEqual([message.data.mention, message.data.event], [false, 'message'])
  const own = await deliverEvent(world, { text: 'ask <@U0BOT|trivium> please' })
  assert.equal(own.data.mention, true)
})

test('words to everybody stay words to everybody, and call nobody when they are said again', async () => {
  const text = '<!here|here> <!channel> <!subteam^S1|@ops> <!subteam^S2> <!date^1^{date}|today>'
  const message = await deliverEvent(world, { text })
  assert.equal(message.text, '@here @channel @ops @S2 today')
  await world.transport.send(replyTo(message, `You said: ${message.text}`))
  assert.equal(server.posts.at(-1)?.text.replaceAll('\u200B', ''), `You said: ${message.text}`)
  assert.doesNotMatch(JSON.stringify(server.posts.at(-1)), /@here|@channel/)
  assert.ok(!JSON.stringify(server.calls.at(-1)?.args).includes('link_names'))
})

describe('where other bots are heard', () => {
  const ofBot = (more: JsonObject) => callback({ ts: server.nextTs(), text: 'hello', bot_id: 'B9', ...more })

  test('one that mentions the bot in its blocks does', async () => {
    const section = { type: 'section', text: { type: 'mrkdwn', text: '<@U0BOT> look' } }
    const [message] = await taken(ofBot({ user: 'U9BOT', blocks: [section] }))
    assert.equal(message?.data.mention, true)
  })

  test('our own app is not heard in a channel that another workspace shares', async () => {
    assert.equal((await taken(ofBot({ user: 'U8BOT', app_id: 'A0APP' }))).length, 0)
    assert.equal((await taken(ofBot({ user: 'U8BOT', app_id: 'A0OTHER' }))).length, 1)
    const webhook = { subtype: 'bot_message', user: null, username: 'Alerts', app_id: 'A0APP' }
    assert.equal((await taken(ofBot(webhook))).length, 1, 'a webhook of the app is no answer of ours')
  })

  test('neither is our bot of another workspace with a token here', async () => {
    const slackServer = await startSlackServer()
    const identity = (number: number) => ({
      body: { ok: true, team: 't', team_id: `T${number}`, user_id: `U${number}BOT`, bot_id: `B${number}BOT` },
    })
    slackServer.fail('auth.test', identity(1), identity(2))
    const other = await startTransportFixture({ gateway: 'team' })
    const options = socketOptions(slackServer, { botToken: ['xoxb-1', 'xoxb-2'], 'allow-bots': true })
    const transport = slack.create(options, other.deps)
    try {
      await transport.start()
      await until(() => /^connected/.test(transport.health().detail ?? ''), 'a connection')
      const said = { ts: '1.1', text: 'hi', user: 'U2BOT', bot_id: 'B2BOT' }
      const payload = { ...callback(said), team_id: 'T1', authorizations: [{ team_id: 'T1' }] }
      assert.ok((await slackServer.sockets.deliver('events_api', payload)).acked)
      assert.equal(other.store.messages.length, 0)
    } finally {
      await transport.stop()
      await transport.close()
      await other.close()
      await slackServer.close()
    }
  })
})

test('a modal that somebody of another workspace sends from a shared channel is taken', async () => {
  const view = {
    id: 'V1',
    hash: 'h',
    callback_id: 'c',
    app_installed_team_id: 'T0TEAM',
    state: { values: {} },
  }
  const who = { team: { id: 'T9OTHER' }, user: { id: 'U9', team_id: 'T9OTHER' } }
  const [message] = await taken({ type: 'view_submission', ...who, view }, 'interactive')
  assert.deepEqual([message?.data.action, message?.data.team, message?.from.id], ['c', 'T0TEAM', 'U9'])
  const elsewhere = { ...view, app_installed_team_id: 'T8' }
  assert.equal((await taken({ type: 'view_submission', ...who, view: elsewhere }, 'interactive')).length, 0)
})
