import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { until } from '../../fixtures/until.ts'
import { callback, deliverEvent, replyTo, startWorld } from './harness.ts'

const world = await startWorld()
after(() => world.close())
const { server, fixture, transport } = world
const lastPost = () => server.posts.at(-1)

describe('a reply', () => {
  test('goes into the thread that the message starts', async () => {
    const message = await deliverEvent(world, { text: 'hello' })
    await transport.send(replyTo(message, 'hi'))
    assert.deepEqual(
      [lastPost()?.thread_ts, lastPost()?.channel, lastPost()?.text],
      [message.data.ts, 'C0GEN', 'hi'],
    )
  })

  test('goes into the thread that the message is in', async () => {
    const message = await deliverEvent(world, { text: 'more', thread_ts: '1600000000.000001' })
    await transport.send(replyTo(message, 'hi'))
    assert.equal(lastPost()?.thread_ts, '1600000000.000001')
    assert.equal(message.conversation, 'slack:T0TEAM:C0GEN:1600000000.000001')
  })

  test('is one that Slack can be asked for by its key', async () => {
    const message = await deliverEvent(world, { text: 'hello' })
    const reply = replyTo(message, 'found')
    await transport.send(reply)
    assert.deepEqual(lastPost()?.metadata, {
      event_type: 'trivium_reply',
      event_payload: { key: reply.key, part: 0, parts: 1 },
    })
  })
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
    assert.equal(fixture.store.messages.length, before + 1)
    const message = fixture.store.messages.at(-1)
    assert.equal(message?.text, 'summarize this')
    assert.equal(message?.data.mention, true)
  })

  test('comes with the names of its channel and author', async () => {
    // Whoever is not told in time stays an id; on a slow machine that may be the first message.
    const message = await until(async () => {
      const each = await deliverEvent(world, { text: 'who am I?' })
      return each.from.name !== undefined && each.to !== 'C0GEN' ? each : undefined
    }, 'a message with names')
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
    const texts = fixture.store.messages.slice(before).map(({ text }) => text)
    assert.deepEqual(texts, ['first', 'second', 'third'])
  })

  test('by hundreds at once is taken in order, and each is acknowledged', async () => {
    const before = fixture.store.messages.length
    const texts = Array.from({ length: 300 }, (_, index) => `message ${index}`)
    const deliveries = texts.map((text) =>
      server.sockets.deliver('events_api', callback({ text, ts: server.nextTs() })),
    )
    assert.ok((await Promise.all(deliveries)).every(({ acked }) => acked))
    assert.deepEqual(
      fixture.store.messages.slice(before).map(({ text }) => text),
      texts,
    )
  })

  test('comes with its files', async () => {
    const url = server.file('notes.txt', 'top')
    const file = { id: 'F1', name: 'notes.txt', mimetype: 'text/plain', size: 3, url_private_download: url }
    const message = await deliverEvent(world, { text: 'see', subtype: 'file_share', files: [file] })
    assert.deepEqual(
      message.attachments.map(({ name, size }) => [name, size]),
      [['notes.txt', 3]],
    )
  })
})

test('a payload of a workspace without a token here starts nothing, and is acknowledged', async () => {
  const stranger = {
    ...callback({ text: 'x', ts: server.nextTs() }),
    team_id: 'T9',
    authorizations: [{ team_id: 'T9' }],
  }
  const calls = fixture.store.calls
  assert.equal((await server.sockets.deliver('events_api', stranger)).acked, true)
  assert.equal(fixture.store.calls, calls)
  await until(() => fixture.refused.includes('unknown_team'), 'a count of what was refused')
})
