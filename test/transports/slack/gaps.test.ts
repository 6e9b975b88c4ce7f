import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import type { Posted } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'
import { callback, deliverEvent, startWorld, type World } from './harness.ts'

let world: World
afterEach(() => world.close())

/** Timestamps of now: a gap is only filled as far back as the options say. */
let count = 0
const ts = () => `${Math.floor(Date.now() / 1000)}.${String(++count).padStart(6, '0')}`
const texts = () => world.fixture.store.messages.map((message) => message.text)

function written(text: string, more: Partial<Posted> = {}): Posted {
  const message = { ts: ts(), channel: 'C0GEN', user: 'U1ANN', text, ...more }
  world.server.write(message)
  return message
}

describe('what was written while no socket was open', () => {
  test('is taken in order after the next connection, in channels and in threads, and once', async () => {
    world = await startWorld({ ping: 60 })
    const first = written('first')
    await deliverEvent(world, { ...first })
    world.server.fail('apps.connections.open', {})
    world.server.sockets.cut()
    written('missed in the channel')
    written('missed in the thread', { thread_ts: first.ts })
    const late = written('missed, and delivered late')
    await until(() => texts().includes(late.text), 'what was missed')
    await world.server.sockets.deliver('events_api', callback({ ...late }))
    assert.deepEqual(texts(), ['first', 'missed in the channel', 'missed in the thread', late.text])
  })

  test('is taken in order though it is more than one page', async () => {
    world = await startWorld({ ping: 60 })
    await deliverEvent(world, { ...written('first') })
    world.server.sockets.cut()
    const missed = Array.from({ length: 150 }, (_, index) => written(`missed ${index}`).text)
    await until(() => texts().length > missed.length, 'what was missed', 30_000)
    assert.deepEqual(texts(), ['first', ...missed])
  })

  test('is read again and again until Slack answers, though others are heard meanwhile, and health says so', async () => {
    world = await startWorld({ ping: 60 })
    await deliverEvent(world, { ...written('first') })
    const { server, transport, fixture } = world
    server.fail('conversations.history', { status: 500, body: {} }, { status: 500, body: {} })
    server.sockets.cut()
    written('missed')
    await until(() => /catching up: 1 channel$/.test(transport.health().detail ?? ''), 'health that says so')
    await server.sockets.deliver('events_api', callback({ ...written('live') }))
    await until(() => texts().includes('missed'), 'what was missed')
    assert.deepEqual(texts(), ['first', 'live', 'missed'])
    await until(() => !/catching up/.test(transport.health().detail ?? ''), 'health that is quiet again')
    const warnings = fixture.logs.filter(
      ({ level, message }) => level === 'warn' && /could not be read/.test(message),
    )
    assert.equal(warnings.length, 1)
  })

  test('is taken once the store is back, where that was away as well', async () => {
    world = await startWorld({ ping: 60 })
    const { server, fixture } = world
    await deliverEvent(world, { ...written('first') })
    fixture.store.fail()
    server.sockets.cut()
    written('missed')
    await until(() => fixture.store.calls >= 2, 'a message that is refused')
    fixture.store.recover()
    await until(() => texts().includes('missed'), 'what was missed')
  })

  test('is found after a restart, though others were heard before it could be read', async () => {
    world = await startWorld({ ping: 60 })
    const { server, transport } = world
    await deliverEvent(world, { ...written('first') })
    const outage = Array.from({ length: 50 }, () => ({ status: 500, body: {} }))
    server.fail('conversations.history', ...outage)
    server.sockets.cut()
    written('missed')
    await server.sockets.deliver('events_api', callback({ ...written('live') }))
    await transport.stop()
    server.heal('conversations.history')
    await world.another()
    await until(() => texts().includes('missed'), 'what was missed')
  })

  test('is found though the next message comes before a slow store has said how far was read', async () => {
    world = await startWorld({ ping: 60 })
    const { server, transport, fixture } = world
    const channels = Array.from({ length: 10 }, (_, index) => `C${index}`)
    for (const channel of channels) await deliverEvent(world, { ...written(`first ${channel}`, { channel }) })
    await transport.stop()
    for (const channel of channels) written(`missed ${channel}`, { channel })
    const { get } = fixture.store.kv
    const { promise: isOpen, resolve: open } = Promise.withResolvers<void>()
    fixture.store.kv.get = async (key) => {
      await isOpen
      return get(key)
    }
    await world.another()
    for (const channel of channels) {
      await server.sockets.deliver('events_api', callback({ ...written(`live ${channel}`, { channel }) }))
    }
    open()
    const missed = () => texts().filter((text) => text.startsWith('missed'))
    await until(() => missed().length === channels.length, 'what was missed')
  })

  test('may be a whole thread, or an answer in an old one', async () => {
    world = await startWorld({ ping: 60 })
    const { server } = world
    const old = Array.from({ length: 8 }, (_, index) => written(`old ${index}`))
    for (const message of old) await deliverEvent(world, { ...message })
    server.sockets.cut()
    const root = written('missed root')
    written('missed answer', { thread_ts: root.ts })
    written('missed answer to an old one', { thread_ts: old[0]?.ts ?? '' })
    await until(() => texts().includes('missed answer to an old one'), 'what was missed')
    assert.deepEqual(texts().slice(8), ['missed root', 'missed answer', 'missed answer to an old one'])
    // One look at the history tells which of the old ones were answered.
    const asked = server.calls.filter(({ method }) => method === 'conversations.replies')
    assert.deepEqual(new Set(asked.map(({ args }) => args.ts)), new Set([root.ts, old[0]?.ts]))
  })

  test("in many channels is read at a pace that stays below Slack's limits, and health counts what is left", async () => {
    world = await startWorld({ ping: 60 })
    const { server, transport } = world
    for (let index = 0; index < 25; index++) {
      const channel = `C${index}`
      await deliverEvent(world, { ...written(`first ${channel}`, { channel }) })
    }
    server.sockets.cut()
    await until(() => /catching up: 5 channels$/.test(transport.health().detail ?? ''), 'a pause')
    const read = server.calls.filter(({ method }) => method === 'conversations.history').length
    assert.ok(read <= 21, `${read} calls`)
  })

  test('keeps the kind of its channel', async () => {
    world = await startWorld({ ping: 60 })
    const channel = 'G0GROUP'
    await deliverEvent(world, { ...written('first', { channel }), channel_type: 'mpim' })
    world.server.sockets.cut()
    written('missed', { channel })
    await until(() => texts().includes('missed'), 'what was missed')
    const types = world.fixture.store.messages.map(({ data }) => data.channelType)
    assert.deepEqual(types, ['mpim', 'mpim'])
  })

  test('is read though a thread that was remembered has been deleted', async () => {
    world = await startWorld({ ping: 60 })
    const first = written('first')
    await deliverEvent(world, { ...first })
    world.server.fail('conversations.replies', { body: { ok: false, error: 'thread_not_found' } })
    world.server.sockets.cut()
    written('missed')
    await until(() => texts().includes('missed'), 'what was missed')
  })

  test('is left to Slack where the bot may not read the channel, and the others are read', async () => {
    world = await startWorld({ ping: 60 })
    await deliverEvent(world, { ...written('first', { channel: 'C0A' }), channel: 'C0A' })
    await deliverEvent(world, { ...written('second', { channel: 'C0B' }), channel: 'C0B' })
    world.server.fail('conversations.history', { body: { ok: false, error: 'missing_scope' } })
    world.server.sockets.cut()
    written('missed', { channel: 'C0A' })
    await until(() => texts().includes('missed'), 'what was missed')
    assert.doesNotMatch(world.transport.health().detail ?? '', /catching up/)
  })

  test('without a mention is left alone where Slack delivers only mentions', async () => {
    world = await startWorld({ ping: 60 })
    const first = written('<@U0BOT> first')
    await deliverEvent(world, { ...first, type: 'app_mention' })
    world.server.sockets.cut()
    written('none of our business')
    written('<@U0BOT> second')
    await until(() => texts().length === 2, 'what was missed')
    assert.deepEqual(texts(), ['first', 'second'])
  })
})

test('progress is shown with reactions on what a route wants, and on nothing else', async () => {
  world = await startWorld({ progress: {} })
  const { store } = world.fixture
  const wanted = await deliverEvent(world, { text: 'please', ts: ts() })
  const unwanted = await deliverEvent(world, { text: 'chatter', ts: ts() })
  store.settle(unwanted.id, 'unrouted')
  await until(() => world.server.reactions.length === 1, 'a reaction')
  store.settle(wanted.id, 'done')
  await until(() => world.server.reactions.length === 3, 'all reactions')
  assert.deepEqual(world.server.reactions, [
    { verb: 'add', name: 'eyes', ts: wanted.data.ts },
    { verb: 'remove', name: 'eyes', ts: wanted.data.ts },
    { verb: 'add', name: 'white_check_mark', ts: wanted.data.ts },
  ])
})

test('progress that a daemon left behind when it ended is brought to its end by the next, and by one only', async () => {
  world = await startWorld({ progress: {} })
  const { server, fixture, transport } = world
  const message = await deliverEvent(world, { text: 'please', ts: ts() })
  await until(() => server.reactions.length === 1, 'eyes')
  await transport.stop()
  await world.another()
  const third = await world.another()
  const kept = () => fixture.store.kv.list('slack/team/working/', 10)
  assert.equal((await kept()).length, 1)
  fixture.store.settle(message.id, 'failed')
  await until(() => server.reactions.length === 3, 'all reactions')
  assert.deepEqual(
    server.reactions.map(({ verb, name }) => `${verb} ${name}`),
    ['add eyes', 'remove eyes', 'add warning'],
  )
  assert.deepEqual(await kept(), [])
  await third.transport.stop()
  assert.equal(server.reactions.length, 3)
})
