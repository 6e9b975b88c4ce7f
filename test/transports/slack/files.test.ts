import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { deliveryOf } from '../../../transports/slack/inbound/delivery.ts'
import { until } from '../../fixtures/until.ts'
import { callback, startWorld, type World } from './harness.ts'

/** Slack waits so long for an acknowledgement. */
const SLACK = 3000

/** A world whose files are here only once `release` was called; `saves` counts how often one was fetched. */
async function withSlowFiles(t: TestContext) {
  const world = await startWorld()
  t.after(() => world.close())
  const { artifacts } = world.fixture.deps
  const save = artifacts.save
  const gate = Promise.withResolvers<void>()
  let saves = 0
  artifacts.save = async (...args) => {
    saves++
    await gate.promise
    return save(...args)
  }
  return { ...world, release: gate.resolve, saves: () => saves }
}

function shared({ server }: Pick<World, 'server'>, more: JsonObject = {}): JsonObject {
  const url = server.file('notes.txt', 'top')
  const file = { id: 'F1', name: 'notes.txt', mimetype: 'text/plain', url_private_download: url, ...more }
  return callback({
    subtype: 'file_share',
    text: 'see',
    ts: server.nextTs(),
    thread_ts: '5.1',
    files: [file],
  })
}

const files = ({ fixture }: Pick<World, 'fixture'>) =>
  fixture.store.messages.map(({ text, attachments, data }) => [text, attachments.length, data.files])
const kept = { id: 'F1', name: 'notes.txt', type: 'text/plain' }

describe('a file that takes long', () => {
  test('leaves its message to come again, is found then, and holds up nothing else', async (t) => {
    const world = await withSlowFiles(t)
    const { sockets } = world.server
    const event = shared(world)
    const first = sockets.deliver('events_api', event, { within: SLACK })
    const other = callback({ text: 'and?', ts: world.server.nextTs(), thread_ts: '5.1' })
    const second = await sockets.deliver('events_api', other)
    assert.ok(second.acked && second.ms < SLACK)
    assert.equal((await first).acked, false)
    assert.deepEqual(files(world), [['and?', 0, undefined]])
    world.release()
    const again = await sockets.deliver('events_api', event, { retry: 1 })
    assert.ok(again.acked && again.ms < 1000)
    assert.deepEqual(files(world)[1], ['see', 1, [kept]])
    assert.equal(world.saves(), 1)
  })

  test('is named as missing when Slack delivers its message for the last time', async (t) => {
    const world = await withSlowFiles(t)
    const outcome = await world.server.sockets.deliver('events_api', shared(world), { retry: 3 })
    assert.ok(outcome.acked && outcome.ms < SLACK)
    assert.deepEqual(files(world), [['see', 0, [{ ...kept, error: 'it took too long to download' }]]])
  })

  test('is waited for as long when its message is read back, and then left for later', async (t) => {
    const world = await withSlowFiles(t)
    // Only what Slack delivers has an id.
    const { event_id: _id, ...readBack } = shared(world)
    const refused = world.server.sockets.deliver('events_api', readBack, { within: SLACK })
    await until(() => world.saves() === 1, 'the download to begin')
    const said = () => callback({ text: 'hello', ts: world.server.nextTs(), thread_ts: '5.1' })
    const outcomes = await Promise.all([1, 2].map(() => world.server.sockets.deliver('events_api', said())))
    assert.ok(outcomes.every((outcome) => outcome.acked && outcome.ms < SLACK))
    assert.equal((await refused).acked, false)
    const last = await world.server.sockets.deliver('events_api', readBack, { retry: 3 })
    assert.ok(last.acked && last.ms < SLACK)
    assert.deepEqual(files(world)[2]?.[0], 'see')
  })
})

test('a file that failed for the moment is fetched anew when its message comes again', async (t) => {
  const world = await withSlowFiles(t)
  world.release()
  const { artifacts } = world.fixture.deps
  const { save } = artifacts
  artifacts.save = async () => {
    artifacts.save = save
    throw new Error('the connection was lost')
  }
  const event = shared(world)
  const refused = world.server.sockets.deliver('events_api', event, { within: 500 })
  assert.equal((await refused).acked, false)
  assert.ok((await world.server.sockets.deliver('events_api', event, { retry: 1 })).acked)
  assert.deepEqual(files(world), [['see', 1, [kept]]])
})

test('a file that cannot be had is named with the reason, and holds up nothing', async (t) => {
  const world = await withSlowFiles(t)
  const elsewhere = shared(world, { url_private_download: 'https://example.com/x' })
  const nowhere = shared(world, {
    id: 'F2',
    url_private_download: world.server.file('x', 'x').replace('/x', '/y'),
  })
  for (const event of [elsewhere, nowhere]) {
    const outcome = await world.server.sockets.deliver('events_api', event)
    assert.ok(outcome.acked && outcome.ms < 1000)
  }
  const errors = world.fixture.store.messages.map(({ data }) => JSON.stringify(data.files))
  assert.match(errors[0] ?? '', /it is not kept at Slack/)
  assert.match(errors[1] ?? '', /403; the token may lack the scope files:read/)
})

describe('an event', () => {
  const now = 1_800_000_000_000
  const delivered = (age: number, more: JsonObject = {}) =>
    deliveryOf('event', { event_id: 'E', event: { event_ts: String((now - age) / 1000) }, ...more }, now)

  test('that is fresh comes again; one that is old, or came three times, does not', () => {
    assert.deepEqual(delivered(1000), { patience: 2000, comesAgain: true })
    assert.equal(delivered(70_000, { retry_attempt: 2 }).comesAgain, true)
    assert.equal(delivered(300_000).comesAgain, false)
    assert.equal(delivered(5000, { retry_attempt: 3 }).comesAgain, false)
  })

  test('that is read back comes again until whoever reads it says that it does not, however old it is', () => {
    const readBack = (more: JsonObject) => deliveryOf('event', { event: { event_ts: '1.0' }, ...more }, now)
    assert.deepEqual(readBack({}), { patience: 2000, comesAgain: true })
    assert.equal(readBack({ retry_attempt: 3 }).comesAgain, false)
  })

  test('of which nothing is known is taken as it is', () => {
    assert.equal(deliveryOf('event', { event_id: 'E', event: {} }, now).comesAgain, false)
  })
})
