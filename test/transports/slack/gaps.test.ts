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
