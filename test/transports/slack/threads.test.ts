import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { slack } from '../../../transports/slack/index.ts'
import { until } from '../../fixtures/until.ts'
import { callback, deliverEvent, messagesFrom, replyTo, startSlackGateway } from './harness.ts'

const setup = await startSlackGateway()
after(() => setup.close())
const { server, fixture, transport } = setup
const texts = (from: number) => fixture.store.messages.slice(from).map(({ text }) => text)

test('a reply is posted in the thread of its message, or starts one', async () => {
  for (const thread_ts of [undefined, '1600000000.000001']) {
    const message = await deliverEvent(setup, { text: 'hello', ...(thread_ts ? { thread_ts } : {}) })
    await transport.send(replyTo(message, 'hi'))
    const { channel, thread_ts: thread, text } = server.posts.at(-1) ?? {}
    assert.deepEqual([channel, thread, text], ['C0GEN', thread_ts ?? message.data.ts, 'hi'])
    assert.equal(message.conversation, `slack:T0TEAM:C0GEN:${thread}`)
  }
})

describe('a post', () => {
  test('that mentions the bot is one message, although Slack sends two events', async () => {
    const before = fixture.store.messages.length
    const post = { text: '<@U0BOT> summarize this', ts: server.nextTs() }
    const outcomes = await Promise.all([
      server.sockets.deliver('events_api', callback(post)),
      server.sockets.deliver('events_api', callback({ ...post, type: 'app_mention' })),
    ])
    assert.ok(outcomes.every((outcome) => outcome.acked))
    assert.deepEqual(texts(before), ['summarize this'])
    assert.equal(fixture.store.messages.at(-1)?.data.mention, true)
  })

  test('keeps its order in the thread, although a name must be looked up', async () => {
    const before = fixture.store.messages.length
    const thread_ts = server.nextTs()
    const post = (text: string, user = 'U1ANN') => callback({ text, user, thread_ts, ts: server.nextTs() })
    const release = server.hold('users.info')
    const deliveries = [post('first'), post('second', 'U3NEW'), post('third')].map((event) =>
      server.sockets.deliver('events_api', event),
    )
    await until(() => server.calls.at(-1)?.args.user === 'U3NEW', 'the look-up of the name')
    release()
    assert.ok((await Promise.all(deliveries)).every(({ acked }) => acked))
    assert.deepEqual(texts(before), ['first', 'second', 'third'])
  })
})

test('a payload of a workspace without a token is acknowledged and refused; health lists the workspace, and the log once', async () => {
  const stranger = { ...callback({ text: 'x', ts: server.nextTs() }), authorizations: [{ team_id: 'T9' }] }
  for (const team_id of ['T9', 'T9', 'T8']) {
    const payload = { ...stranger, team_id, authorizations: [{ team_id }] }
    assert.deepEqual(await messagesFrom(setup, 'events_api', payload), [])
  }
  assert.deepEqual(fixture.refused, ['unknown_team', 'unknown_team', 'unknown_team'])
  assert.equal(fixture.logs.filter(({ message }) => /workspace T[89] are refused/.test(message)).length, 2)
  const { ok, detail = '' } = transport.health()
  assert.equal(ok, false)
  assert.match(detail, /workspace T9 are refused.*workspace T8 are refused: no bot token/)
})

test('events of the bot itself and of other bots are not accepted', async () => {
  const item = { type: 'message', channel: 'C0GEN', ts: '1.1' }
  const events: JsonObject[] = [
    { user: 'U0BOT', text: 'mine' },
    { bot_id: 'B0BOT', text: 'mine' },
    { bot_id: 'B9', user: 'U9', text: 'of another bot' },
    { type: 'reaction_added', user: 'U0BOT', reaction: 'eyes', item },
    { type: 'file_shared', user_id: 'U0BOT', channel_id: 'C0GEN', user: null },
  ]
  for (const event of events) {
    assert.deepEqual(await messagesFrom(setup, 'events_api', callback({ ts: server.nextTs(), ...event })), [])
  }
})

test('any other event is a notice with its payload', async () => {
  const joined = { type: 'member_joined_channel', user: 'U0BOT', channel: 'C0GEN' }
  const profile = { id: 'U1ANN', profile: { title: 'CTO' } }
  for (const [event, name, conversation, sender] of [
    [joined, 'member_joined_channel', 'slack:T0TEAM:C0GEN', 'U0BOT'],
    [{ subtype: 'channel_join', text: 'joined' }, 'channel_join', 'slack:T0TEAM:C0GEN', 'U1ANN'],
    [{ type: 'user_change', channel: null, user: profile }, 'user_change', 'slack:T0TEAM:U1ANN', 'U1ANN'],
    [
      { type: 'reaction_added', reaction: 'heart', item: { channel: 'C0GEN' } },
      ...(['reaction_added', 'slack:T0TEAM:C0GEN', 'U1ANN'] as const),
    ],
    [{ type: 'emoji_changed', channel: null, user: null }, 'emoji_changed', 'slack:T0TEAM:T0TEAM', 'T0TEAM'],
  ] as const) {
    const message = await deliverEvent(setup, event)
    const { data } = message
    assert.deepEqual(
      [data.event, data.notice, message.conversation, message.from.id],
      [name, true, conversation, sender],
    )
    const { subtype, user } = Object(data.payload).event
    assert.deepEqual([subtype, user], [Object(event).subtype, Object(event).user ?? user])
    assert.equal(slack.eventData(message).payload, undefined)
  }
  const [message] = await messagesFrom(setup, 'something_new', { type: 'new', a: 1 })
  assert.deepEqual([message?.data.event, message?.data.payload], ['new', { type: 'new', a: 1 }])
})

describe('`data.mine`', () => {
  /** `data.mine` of a message in this thread. */
  const isMineIn = async (thread_ts: string, more: JsonObject = {}) =>
    (await deliverEvent(setup, { text: 'and now?', thread_ts, ...more })).data.mine

  test('is set in threads that the bot began, in which it was mentioned, or in which any daemon posted', async () => {
    const [mentioned, posted] = ['1650000000.000001', '1650000000.000002']
    assert.equal(await isMineIn('1650000000.000003'), undefined)
    assert.equal(await isMineIn('1650000000.000004', { parent_user_id: 'U0BOT' }), true)
    const { data } = await deliverEvent(setup, { text: '<@U0BOT> help' })
    assert.equal(await isMineIn(String(data.thread)), true)
    assert.equal(await isMineIn(mentioned, { text: '<@U0BOT> help' }), true)
    assert.equal(await isMineIn(mentioned), true)
    assert.equal(await isMineIn(posted), undefined)
    const second = await setup.another()
    const to = `C0GEN/${posted}`
    await second.transport.send({ key: to, gateway: 'team', conversation: to, to, text: 'hi' })
    assert.equal(await isMineIn(posted), true)
  })

  test('is not set for other bots, which would answer endlessly', async () => {
    const bots = await startSlackGateway({ 'allow-bots': true })
    const { data } = await deliverEvent(bots, {
      text: 'hi',
      bot_id: 'B9',
      thread_ts: '1.1',
      parent_user_id: 'U0BOT',
    })
    assert.equal(data.mine, undefined)
    await bots.close()
  })
})
