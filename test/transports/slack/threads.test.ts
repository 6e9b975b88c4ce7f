import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { until } from '../../fixtures/until.ts'
import { callback, deliverEvent, replyTo, startWorld } from './harness.ts'

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

  test('comes with the names of its channel and author', async () => {
    const message = await deliverEvent(world, { text: 'see' })
    assert.deepEqual(message.from, { id: 'U1ANN', name: 'name-U1ANN', address: 'U1ANN', verified: true })
    assert.deepEqual(message.data.channel, ['C0GEN', 'chan-c0gen'])
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

  test('by hundreds at once is taken in order, and each is acknowledged', async () => {
    const before = fixture.store.messages.length
    const said = Array.from({ length: 300 }, (_, index) => `message ${index}`)
    const deliveries = said.map((text) =>
      server.sockets.deliver('events_api', callback({ text, ts: server.nextTs() })),
    )
    assert.ok((await Promise.all(deliveries)).every(({ acked }) => acked))
    assert.deepEqual(texts(before), said)
  })
})

test('a payload of a workspace without a token here starts nothing, and is acknowledged', async () => {
  const stranger = { ...callback({ text: 'x', ts: server.nextTs() }), authorizations: [{ team_id: 'T9' }] }
  const before = fixture.store.messages.length
  assert.ok((await server.sockets.deliver('events_api', { ...stranger, team_id: 'T9' })).acked)
  assert.deepEqual([texts(before), fixture.refused], [[], ['unknown_team']])
})

test('own messages, other bots and what Slack tells of itself start nothing', async () => {
  const before = fixture.store.messages.length
  const item = { type: 'message', channel: 'C0GEN', ts: '1.1' }
  const silent: JsonObject[] = [
    { user: 'U0BOT', text: 'mine' },
    { bot_id: 'B0BOT', text: 'mine' },
    { bot_id: 'B9', user: 'U9', text: 'of another bot' },
    { subtype: 'channel_join', text: 'joined' },
    { type: 'reaction_added', user: 'U0BOT', reaction: 'eyes', item },
    { type: 'member_joined_channel' },
  ]
  for (const event of silent) {
    const outcome = await server.sockets.deliver('events_api', callback({ ts: server.nextTs(), ...event }))
    assert.equal(outcome.acked, true, JSON.stringify(event))
  }
  assert.equal((await server.sockets.deliver('something_new', { a: 1 })).acked, true)
  assert.deepEqual(texts(before), [])
})
