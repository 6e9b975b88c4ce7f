import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { startSlackServer } from '../../fixtures/slack-server.ts'
import { callback, click, deliverEvent, messagesFrom, replyTo, startSlackGateway } from './harness.ts'

const setup = await startSlackGateway({ 'allow-bots': true })
after(() => setup.close())
const { server } = setup

const messagesOf = (payload: JsonObject) => messagesFrom(setup, 'events_api', payload)

/** The event of an edit, from `before` to `text`. */
const edit = (ts: string, text: string, before: string, more: JsonObject = {}) =>
  callback({
    subtype: 'message_changed',
    ts: server.nextTs(),
    message: { user: 'U1ANN', ts, text },
    previous_message: { user: 'U1ANN', ts, text: before },
    ...more,
  })
const mentioned = (ts: string, text: string) => callback({ type: 'app_mention', ts, text })

describe('an edit', () => {
  test('that adds a mention is one message for the bot, although Slack sends two events', async () => {
    const ts = server.nextTs()
    assert.equal((await messagesOf(callback({ ts, text: 'help me' }))).length, 1)
    const [message, ...more] = await messagesOf(edit(ts, '<@U0BOT> help me', 'help me'))
    assert.ok(message)
    const { text, conversation, data } = message
    assert.deepEqual([text, data.mention, data.notice, more.length], ['help me', true, undefined, 0])
    assert.deepEqual(data.event, ['app_mention', 'message', 'message_changed'])
    assert.equal(conversation, `slack:T0TEAM:C0GEN:${ts}`)
    assert.equal((await messagesOf(mentioned(ts, '<@U0BOT> help me'))).length, 0)
  })

  test('of a message that was only delivered as a mention is not a second message', async () => {
    const ts = server.nextTs()
    assert.equal((await messagesOf(mentioned(ts, '<@U0BOT> help'))).length, 1)
    assert.equal((await messagesOf(edit(ts, '<@U0BOT> help', 'help'))).length, 0)
    // After a lost connection, the history has only the edited text.
    assert.equal((await messagesOf(callback({ ts, text: '<@U0BOT> help' }))).length, 0)
  })

  for (const [name, before, more] of [
    ['a message that already mentioned the bot', '<@U0BOT> helo', {}],
    ['a direct message', 'help', { channel: 'D0ANN', channel_type: 'im' }],
  ] as const) {
    test(`of ${name} is a notice`, async () => {
      const ts = server.nextTs()
      assert.equal((await messagesOf(callback({ ts, text: before, ...more }))).length, 1)
      const [message] = await messagesOf(edit(ts, '<@U0BOT> help', before, more))
      assert.deepEqual([message?.data.event, message?.data.notice], ['message_changed', true])
      // As read after a lost connection.
      assert.equal((await messagesOf(callback({ ts, text: '<@U0BOT> help', ...more }))).length, 0)
    })
  }
})

test('a deleted root of a thread is a deletion, although Slack reports a change', async () => {
  const ts = server.nextTs()
  const tombstone = {
    subtype: 'tombstone',
    user: 'USLACKBOT',
    text: 'This message was deleted.',
    ts,
    thread_ts: ts,
  }
  const root = { user: 'U1ANN', text: 'parent', ts, thread_ts: ts, reply_count: 1 }
  const changed = {
    subtype: 'message_changed',
    ts: server.nextTs(),
    message: tombstone,
    previous_message: root,
  }
  const [message] = await messagesOf(callback(changed))
  assert.deepEqual(
    [message?.data.event, message?.data.ts, message?.data.previousText, message?.from.id, message?.text],
    ['message_deleted', ts, 'parent', 'U1ANN', ''],
  )
})

test('a mention of a user whose id begins with that of the bot is not a mention of the bot', async () => {
  const message = await deliverEvent(setup, { text: 'ask <@U0BOT2X> please' })
  assert.deepEqual([message.data.mention, message.data.event], [false, 'message'])
  const own = await deliverEvent(setup, { text: 'ask <@U0BOT|trivium> please' })
  assert.equal(own.data.mention, true)
})

test('the mention at the start of a message is not part of its text, but an emoji after it is', async () => {
  for (const [text, expected] of [
    ['<@U0BOT>: do this', 'do this'],
    ['<@U0BOT>, :tada: done', ':tada: done'],
    ['<@U0BOT> :white_check_mark:', ':white_check_mark:'],
    ['<@U0BOT> : at 10:30', 'at 10:30'],
  ] as const)
    assert.equal((await deliverEvent(setup, { text })).text, expected)
})

test('a button with the name of a property of all objects is not an approval or a take-over', async () => {
  const actions = [{ type: 'button', action_id: 'constructor', block_id: 'b', value: 'x', action_ts: '1' }]
  const { data } = await click(setup, { actions })
  assert.deepEqual([data.action, data.approval, data.handover], ['constructor', undefined, undefined])
})

describe('with `allow-bots`', () => {
  const ofBot = (more: JsonObject) => callback({ ts: server.nextTs(), text: 'hello', bot_id: 'B9', ...more })

  test('another bot can mention this one in its blocks', async () => {
    const section = { type: 'section', text: { type: 'mrkdwn', text: '<@U0BOT> look' } }
    const [message] = await messagesOf(ofBot({ user: 'U9BOT', blocks: [section] }))
    assert.equal(message?.data.mention, true)
  })

  test('messages of this app are ignored, also by its user in another workspace, but not those of its webhooks', async () => {
    assert.equal((await messagesOf(ofBot({ user: 'U8BOT', app_id: 'A0APP' }))).length, 0)
    assert.equal((await messagesOf(ofBot({ user: 'U8BOT', app_id: 'A0OTHER' }))).length, 1)
    const webhook = { subtype: 'bot_message', user: null, username: 'Alerts', app_id: 'A0APP' }
    assert.equal(
      (await messagesOf(ofBot(webhook))).length,
      1,
      'a webhook of the app is not an answer of the bot',
    )
  })

  test('messages of the bot of another configured workspace are ignored', async (t) => {
    const slack = await startSlackServer()
    const identity = (number: number) => ({
      body: { ok: true, team: 't', team_id: `T${number}`, user_id: `U${number}BOT`, bot_id: `B${number}BOT` },
    })
    slack.answerNext('auth.test', identity(1), identity(2))
    const options = { 'bot-token': ['xoxb-1', 'xoxb-2'], 'allow-bots': true }
    const other = await startSlackGateway(options, undefined, { server: slack })
    t.after(() => other.close())
    const post = { ts: '1.1', text: 'hi', user: 'U2BOT', bot_id: 'B2BOT' }
    const payload = { ...callback(post), team_id: 'T1', authorizations: [{ team_id: 'T1' }] }
    assert.deepEqual(await messagesFrom(other, 'events_api', payload), [])
  })
})

test('an author of another workspace is external, and so is one without a workspace in a shared channel', async () => {
  const externalOf = async (event: JsonObject, more: JsonObject = {}) => {
    const payload = { ...callback({ ts: server.nextTs(), text: 'hello', ...event }), ...more }
    return (await messagesOf(payload))[0]?.from.external
  }
  const shared = { is_ext_shared_channel: true }
  assert.equal(await externalOf({ user_team: 'T9OTHER', team: 'T9OTHER' }), true)
  assert.equal(await externalOf({}, shared), true)
  assert.equal(await externalOf({ team: 'T0TEAM' }, shared), undefined)
  assert.equal(await externalOf({ team: 'T9OTHER' }, { is_ext_shared_channel: false }), undefined)
  assert.equal(await externalOf({}), undefined)
})

test('an organisation with the app is answered with its token, and its people are not external', async (t) => {
  const slack = await startSlackServer()
  const org = { team: 'Acme', team_id: 'E1', enterprise_id: 'E1', is_enterprise_install: true }
  slack.answerNext('auth.test', { body: { ok: true, ...org, user_id: 'U0BOT', bot_id: 'B0BOT' } })
  slack.answerNext(
    'auth.teams.list',
    { body: { ok: true, teams: [{ id: 'T2' }], response_metadata: { next_cursor: 'more' } } },
    { body: { ok: true, teams: [{ id: 'T1', name: 'Sales' }], response_metadata: { next_cursor: '' } } },
  )
  const acme = await startSlackGateway({ 'bot-token': ['xoxb-test'] }, undefined, { server: slack })
  t.after(() => acme.close())
  const installed = { enterprise_id: 'E1', is_enterprise_install: true }
  const posted = callback({ text: 'hi', ts: '7.1', user_team: 'T1' })
  const event = {
    ...posted,
    team_id: 'T1',
    enterprise_id: 'E1',
    is_ext_shared_channel: true,
    authorizations: [{ team_id: null, ...installed }],
  }
  const user = { id: 'U1ANN', team_id: 'T1' }
  const clicked = { type: 'block_actions', team: null, user, channel: { id: 'C0GEN' }, trigger_id: 't' }
  const typed = { command: '/ask', user_id: 'U1ANN', channel_id: 'C0GEN', team_id: 'T1', trigger_id: 't' }
  for (const [type, payload] of [
    ['events_api', event],
    ['interactive', { ...clicked, enterprise: { id: 'E1' }, is_enterprise_install: true }],
    ['slash_commands', { ...typed, ...installed, is_enterprise_install: 'true' }],
  ] as const) {
    const [message = assert.fail()] = await messagesFrom(acme, type, payload)
    assert.deepEqual([message.data.team, message.from.external], ['E1', undefined], type)
    await acme.transport.send(replyTo(message, 'hello'))
  }
  const outsider = { ...event, event: { ...Object(posted.event), ts: '8.1', user_team: 'T9' } }
  assert.equal((await messagesFrom(acme, 'events_api', outsider))[0]?.from.external, true)
})

test('a modal submitted from a shared channel by a user of another workspace is accepted, if it is of this app', async () => {
  const view = { id: 'V1', hash: 'h', callback_id: 'c', state: { values: {} } }
  const submission = (app_installed_team_id: string) => ({
    type: 'view_submission',
    team: { id: 'T9OTHER' },
    user: { id: 'U9', team_id: 'T9OTHER' },
    view: { ...view, app_installed_team_id },
  })
  const [message] = await messagesFrom(setup, 'interactive', submission('T0TEAM'))
  assert.deepEqual([message?.data.action, message?.data.team, message?.from.id], ['c', 'T0TEAM', 'U9'])
  assert.equal(message?.from.external, true)
  assert.equal((await messagesFrom(setup, 'interactive', submission('T8'))).length, 0)
})
