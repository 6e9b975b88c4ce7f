import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { assertPrompt } from '../../fixtures/in-time.ts'
import { until } from '../../fixtures/until.ts'
import { callback, startWorld, type World } from './harness.ts'

/** Slack waits 3 s for an acknowledgement, which comes after 2.5; the rest is for a busy machine. */
const SLACK = 4500

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
  return { ...world, save, release: gate.resolve, saves: () => saves }
}

function shared({ server }: Pick<World, 'server'>, more: JsonObject = {}): JsonObject {
  const url = server.file('notes.txt', 'top')
  const file = { id: 'F1', name: 'notes.txt', mimetype: 'text/plain', url_private_download: url, ...more }
  const ts = server.nextTs()
  return callback({ subtype: 'file_share', text: 'see', ts, thread_ts: '5.1', files: [file] })
}

const files = ({ fixture }: Pick<World, 'fixture'>) =>
  fixture.store.messages.map(({ text, attachments, data }) => [text, attachments.length, data.files])
const kept = { id: 'F1', name: 'notes.txt', type: 'text/plain' }

describe('a file that takes long', { concurrency: true }, () => {
  test('leaves its message to come again, is found then, and holds up nothing else', async (t) => {
    const world = await withSlowFiles(t)
    const { sockets, nextTs } = world.server
    const event = shared(world)
    const first = sockets.deliver('events_api', event, { within: SLACK })
    await until(() => world.saves() === 1, 'the download to begin')
    const other = callback({ text: 'and?', ts: nextTs(), thread_ts: '5.1' })
    const second = await sockets.deliver('events_api', other)
    assert.ok(second.acked)
    await assertPrompt('the other message', second.ms, SLACK)
    assert.equal((await first).acked, false)
    assert.deepEqual(files(world), [['and?', 0, undefined]])
    world.release()
    const again = await sockets.deliver('events_api', event, { retry: 1 })
    assert.ok(again.acked)
    await assertPrompt('the message that comes again', again.ms, 2_000)
    assert.deepEqual([files(world)[1], world.saves()], [['see', 1, [kept]], 1])
  })

  test('is named as missing when Slack delivers its message for the last time', async (t) => {
    const world = await withSlowFiles(t)
    const outcome = await world.server.sockets.deliver('events_api', shared(world), { retry: 3 })
    assert.ok(outcome.acked)
    await assertPrompt('the last delivery', outcome.ms, SLACK)
    assert.deepEqual(files(world), [['see', 0, [{ ...kept, error: 'it took too long to download' }]]])
  })
})

test('a file that failed for the moment is fetched anew when its message comes again', async (t) => {
  const world = await withSlowFiles(t)
  const { artifacts } = world.fixture.deps
  artifacts.save = async () => {
    artifacts.save = world.save
    throw new Error('the connection was lost')
  }
  const event = shared(world)
  const refused = await world.server.sockets.deliver('events_api', event, { within: 500 })
  assert.equal(refused.acked, false)
  assert.ok((await world.server.sockets.deliver('events_api', event, { retry: 1 })).acked)
  assert.deepEqual(files(world), [['see', 1, [kept]]])
})

test('a file that cannot be had is named with the reason, and holds up nothing', async (t) => {
  const world = await withSlowFiles(t)
  const unknown = world.server.file('x', 'x').replace('/x', '/y')
  for (const url_private_download of ['https://example.com/x', unknown]) {
    const event = shared(world, { id: url_private_download, url_private_download })
    const outcome = await world.server.sockets.deliver('events_api', event)
    assert.ok(outcome.acked)
    await assertPrompt('a file that cannot be had', outcome.ms, 2_000)
  }
  const errors = world.fixture.store.messages.map(({ data }) => JSON.stringify(data.files))
  assert.match(errors[0] ?? '', /it is not stored at Slack/)
  assert.match(errors[1] ?? '', /403; the token may lack the scope files:read/)
})

test('a file that is larger than Slack says, or grows as it is unpacked, is given up at the limit and named at once', async (t) => {
  const world = await startWorld({ 'max-file-size': '1MB' })
  t.after(() => world.close())
  const large = Buffer.alloc(64 * 1024 * 1024)
  const names = ['plain', 'packed']
  for (const url of [world.server.file('plain', large), world.server.packedFile('packed', large)]) {
    const event = shared(world, { id: url, size: 100, url_private_download: url })
    const { acked } = await world.server.sockets.deliver('events_api', event)
    assert.ok(acked)
  }
  const found = world.fixture.store.messages.map(({ attachments, data }) => [
    attachments.length,
    JSON.stringify(data.files),
  ])
  assert.equal(found.length, names.length)
  for (const [attachments, told] of found) {
    assert.equal(attachments, 0)
    assert.match(String(told), /over the limit of 1048576 bytes/)
  }
})

test('at most 16 files are downloaded at once, however many come', async (t) => {
  const world = await startWorld()
  t.after(() => world.close())
  const { server } = world
  for (let index = 0; index < 20; index++) {
    const event = shared(world, { id: `F${index}`, url_private_download: server.stuckFile })
    void server.sockets.deliver('events_api', event)
  }
  await until(() => server.downloads() === 16, 'sixteen downloads')
  const { acked } = await server.sockets.deliver('events_api', callback({ text: 'hi', ts: server.nextTs() }))
  assert.ok(acked)
  assert.equal(server.downloads(), 16)
})
