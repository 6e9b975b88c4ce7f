import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { slack } from '../../../transports/slack/index.ts'
import { until } from '../../fixtures/until.ts'
import { callback, deliverEvent, replyTo, startWorld, taken } from './harness.ts'

const world = await startWorld()
after(() => world.close())
const { server, fixture, transport } = world
const texts = (from: number) => fixture.store.messages.slice(from).map(({ text }) => text)

test('a reply goes into the thread that the message starts or is in', async () => {
  for (const thread_ts of [undefined, '1600000000.000001']) {
    const message = await deliverEvent(world, { text: 'hello', ...(thread_ts ? { thread_ts } : {}) })
    await transport.send(replyTo(message, 'hi'))
    const { channel, thread_ts: thread, text } = server.posts.at(-1) ?? {}
    assert.deepEqual([channel, thread, text], ['C0GEN', thread_ts ?? message.data.ts, 'hi'])
    assert.equal(message.conversation, `slack:T0TEAM:C0GEN:${thread}`)
  }
})

describe('what is written to the bot', () => {
  test('is one message, though Slack tells of a mention twice', async () => {
    const before = fixture.store.messages.length
    const said = { text: '<@U0BOT> summarize this', ts: server.nextTs() }
    const outcomes = await Promise.all([
      server.sockets.deliver('events_api', callback(said)),
      server.sockets.deliver('events_api', callback({ ...said, type: 'app_mention' })),
    ])
    assert.ok(outcomes.every((outcome) => outcome.acked))
    assert.deepEqual(texts(before), ['summarize this'])
    assert.equal(fixture.store.messages.at(-1)?.data.mention, true)
  })

  test('is kept in order within its thread, though a name has to be looked up on the way', async () => {
    const before = fixture.store.messages.length
    const thread_ts = server.nextTs()
    const said = (text: string, user = 'U1ANN') => callback({ text, user, thread_ts, ts: server.nextTs() })
    const answered = server.hold('users.info')
    const deliveries = [said('first'), said('second', 'U3NEW'), said('third')].map((event) =>
      server.sockets.deliver('events_api', event),
    )
    await until(() => server.calls.at(-1)?.args.user === 'U3NEW', 'the name to be asked for')
    answered()
    assert.ok((await Promise.all(deliveries)).every(({ acked }) => acked))
    assert.deepEqual(texts(before), ['first', 'second', 'third'])
  })
})

test('a payload of a workspace without a token is acknowledged and refused: status says so, the log once', async () => {
  const stranger = { ...callback({ text: 'x', ts: server.nextTs() }), authorizations: [{ team_id: 'T9' }] }
  for (const team_id of ['T9', 'T9', 'T8']) {
    const payload = { ...stranger, team_id, authorizations: [{ team_id }] }
    assert.deepEqual(await taken(world, 'events_api', payload), [])
  }
  assert.deepEqual(fixture.refused, ['unknown_team', 'unknown_team', 'unknown_team'])
  assert.equal(fixture.logs.filter(({ message }) => /workspace T[89] are refused/.test(message)).length, 2)
  const { ok, detail = '' } = transport.health()
  assert.equal(ok, false)
  assert.match(detail, /workspace T9 are refused.*workspace T8 are refused: no bot token/)
})

test('own messages and other bots start nothing', async () => {
  const item = { type: 'message', channel: 'C0GEN', ts: '1.1' }
  const silent: JsonObject[] = [
    { user: 'U0BOT', text: 'mine' },
    { bot_id: 'B0BOT', text: 'mine' },
    { bot_id: 'B9', user: 'U9', text: 'of another bot' },
    { type: 'reaction_added', user: 'U0BOT', reaction: 'eyes', item },
    { type: 'file_shared', user_id: 'U0BOT', channel_id: 'C0GEN', user: null },
  ]
  for (const event of silent) {
    assert.deepEqual(await taken(world, 'events_api', callback({ ts: server.nextTs(), ...event })), [])
  }
})

test('whatever else Slack tells is a notice, with all that it said', async () => {
  const joined = { type: 'member_joined_channel', user: 'U0BOT', channel: 'C0GEN' }
  const profile = { id: 'U1ANN', profile: { title: 'CTO' } }
  for (const [event, name, conversation, from] of [
    [joined, 'member_joined_channel', 'slack:T0TEAM:C0GEN', 'U0BOT'],
    [{ subtype: 'channel_join', text: 'joined' }, 'channel_join', 'slack:T0TEAM:C0GEN', 'U1ANN'],
    [{ type: 'user_change', channel: null, user: profile }, 'user_change', 'slack:T0TEAM:U1ANN', 'U1ANN'],
    [
      { type: 'reaction_added', reaction: 'heart', item: { channel: 'C0GEN' } },
      ...(['reaction_added', 'slack:T0TEAM:C0GEN', 'U1ANN'] as const),
    ],
    [{ type: 'emoji_changed', channel: null, user: null }, 'emoji_changed', 'slack:T0TEAM:T0TEAM', 'T0TEAM'],
  ] as const) {
    const message = await deliverEvent(world, event)
    const { data } = message
    assert.deepEqual(
      [data.event, data.notice, message.conversation, message.from.id],
      [name, true, conversation, from],
    )
    const { subtype, user } = Object(data.payload).event
    assert.deepEqual([subtype, user], [Object(event).subtype, Object(event).user ?? user])
    assert.equal(slack.eventData(message).payload, undefined)
  }
  const [message] = await taken(world, 'something_new', { type: 'new', a: 1 })
  assert.deepEqual([message?.data.event, message?.data.payload], ['new', { type: 'new', a: 1 }])
})

describe('a thread is the bot’s own', () => {
  const answerIn = async (thread_ts: string, more: JsonObject = {}) =>
    (await deliverEvent(world, { text: 'and now?', thread_ts, ...more })).data.mine

  test('where it began it, was called in it, or said something in it, on any daemon', async () => {
    const [called, said] = ['1650000000.000001', '1650000000.000002']
    assert.equal(await answerIn('1650000000.000003'), undefined)
    assert.equal(await answerIn('1650000000.000004', { parent_user_id: 'U0BOT' }), true)
    const { data } = await deliverEvent(world, { text: '<@U0BOT> help' })
    assert.equal(await answerIn(String(data.thread)), true)
    assert.equal(await answerIn(called, { text: '<@U0BOT> help' }), true)
    assert.equal(await answerIn(called), true)
    assert.equal(await answerIn(said), undefined)
    const second = await world.another()
    const to = `C0GEN/${said}`
    await second.transport.send({ key: to, gateway: 'team', conversation: to, to, text: 'hi' })
    assert.equal(await answerIn(said), true)
  })

  test('but not for other bots, who would answer for ever', async () => {
    const bots = await startWorld({ 'allow-bots': true })
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
