import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { assertPrompt } from '../../fixtures/in-time.ts'
import { until } from '../../fixtures/until.ts'
import { callback, type SlackSetup, startSlackGateway } from './harness.ts'

/**
 * Time to wait for an acknowledgement (ms). Slack waits for 3 s; this leaves time for a busy
 * machine.
 */
const ACK_WITHIN = 4500

/**
 * A gateway whose downloads end only after `release` was called. `saves` returns the number of
 * downloads.
 */
async function withSlowFiles(t: TestContext) {
  const setup = await startSlackGateway()
  t.after(() => setup.close())
  const { artifacts } = setup.fixture.deps
  const save = artifacts.save
  const gate = Promise.withResolvers<void>()
  let saves = 0
  artifacts.save = async (...args) => {
    saves++
    await gate.promise
    return save(...args)
  }
  return { ...setup, save, release: gate.resolve, saves: () => saves }
}

function shared({ server }: Pick<SlackSetup, 'server'>, more: JsonObject = {}): JsonObject {
  const url = server.file('notes.txt', 'top')
  const file = { id: 'F1', name: 'notes.txt', mimetype: 'text/plain', url_private_download: url, ...more }
  const ts = server.nextTs()
  return callback({ subtype: 'file_share', text: 'see', ts, thread_ts: '5.1', files: [file] })
}

const files = ({ fixture }: Pick<SlackSetup, 'fixture'>) =>
  fixture.store.messages.map(({ text, attachments, data }) => [text, attachments.length, data.files])
const kept = { id: 'F1', name: 'notes.txt', type: 'text/plain' }

describe('a slow file', { concurrency: true }, () => {
  test('leaves its message to the redelivery, for which it is ready, and delays no other message', async (t) => {
    const setup = await withSlowFiles(t)
    const { sockets, nextTs } = setup.server
    const event = shared(setup)
    const first = sockets.deliver('events_api', event, { within: ACK_WITHIN })
    await until(() => setup.saves() === 1, 'the download to begin')
    const other = callback({ text: 'and?', ts: nextTs(), thread_ts: '5.1' })
    const second = await sockets.deliver('events_api', other)
    assert.ok(second.acked)
    await assertPrompt('the other message', second.ms, ACK_WITHIN)
    assert.equal((await first).acked, false)
    assert.deepEqual(files(setup), [['and?', 0, undefined]])
    setup.release()
    const again = await sockets.deliver('events_api', event, { retry: 1 })
    assert.ok(again.acked)
    await assertPrompt('the redelivery', again.ms, 2_000)
    assert.deepEqual([files(setup)[1], setup.saves()], [['see', 1, [kept]], 1])
  })

  test('is listed as missing at the last delivery of its message', async (t) => {
    const setup = await withSlowFiles(t)
    const outcome = await setup.server.sockets.deliver('events_api', shared(setup), { retry: 3 })
    assert.ok(outcome.acked)
    await assertPrompt('the last delivery', outcome.ms, ACK_WITHIN)
    assert.deepEqual(files(setup), [['see', 0, [{ ...kept, error: 'it took too long to download' }]]])
  })
})

test('a file that failed temporarily is downloaded again at the redelivery', async (t) => {
  const setup = await withSlowFiles(t)
  const { artifacts } = setup.fixture.deps
  artifacts.save = async () => {
    artifacts.save = setup.save
    throw new Error('the connection was lost')
  }
  const event = shared(setup)
  const refused = await setup.server.sockets.deliver('events_api', event, { within: 500 })
  assert.equal(refused.acked, false)
  assert.ok((await setup.server.sockets.deliver('events_api', event, { retry: 1 })).acked)
  assert.deepEqual(files(setup), [['see', 1, [kept]]])
})

test('a file that cannot be downloaded is listed with the reason, and does not delay its message', async (t) => {
  const setup = await withSlowFiles(t)
  const unknown = setup.server.file('x', 'x').replace('/x', '/y')
  for (const url_private_download of ['https://example.com/x', unknown]) {
    const event = shared(setup, { id: url_private_download, url_private_download })
    const outcome = await setup.server.sockets.deliver('events_api', event)
    assert.ok(outcome.acked)
    await assertPrompt('the message', outcome.ms, 2_000)
  }
  const errors = setup.fixture.store.messages.map(({ data }) => JSON.stringify(data.files))
  assert.match(errors[0] ?? '', /it is not stored at Slack/)
  assert.match(errors[1] ?? '', /403; the token may lack the scope files:read/)
})

test('a file that exceeds the limit, although Slack declares another size or compresses it, is dropped and listed', async (t) => {
  const setup = await startSlackGateway({ 'max-file-size': '1MB' })
  t.after(() => setup.close())
  const large = Buffer.alloc(64 * 1024 * 1024)
  for (const url of [setup.server.file('plain', large), setup.server.packedFile('packed', large)]) {
    const event = shared(setup, { id: url, size: 100, url_private_download: url })
    const { acked } = await setup.server.sockets.deliver('events_api', event)
    assert.ok(acked)
  }
  const { messages } = setup.fixture.store
  assert.equal(messages.length, 2)
  for (const { attachments, data } of messages) {
    assert.deepEqual(attachments, [])
    assert.match(JSON.stringify(data.files), /over the limit of 1048576 bytes/)
  }
})

test('at most 16 files are downloaded at once', async (t) => {
  const setup = await startSlackGateway()
  t.after(() => setup.close())
  const { server } = setup
  for (let index = 0; index < 20; index++) {
    const event = shared(setup, { id: `F${index}`, url_private_download: server.stuckFile })
    void server.sockets.deliver('events_api', event)
  }
  await until(() => server.downloads() === 16, 'sixteen downloads')
  const { acked } = await server.sockets.deliver('events_api', callback({ text: 'hi', ts: server.nextTs() }))
  assert.ok(acked)
  assert.equal(server.downloads(), 16)
})
