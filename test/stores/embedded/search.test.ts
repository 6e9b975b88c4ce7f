import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { mock, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { createSearch } from '../../../src/stores/embedded/search.ts'
import { openStore, temporaryDir } from './kit.ts'

test('closing the search keeps the process alive until its thread has ended, also if the thread answers meanwhile', async (t) => {
  const dir = temporaryDir(t)
  await (await openStore(dir)).close()
  const gateways = { find: () => undefined, number: () => 0 }
  const search = createSearch({ gateways }, join(dir, 'trivium.db'))
  const made = once(process, 'worker')
  const found = search.search({ limit: 1 })
  const [worker] = await made
  assert.ok(worker instanceof Worker)
  const { terminate } = worker
  mock.method(worker, 'terminate', () => {
    const ended = terminate.call(worker)
    process.nextTick(() => worker.emit('message', { rows: [] }))
    return ended
  })
  const unref = mock.method(worker, 'unref')
  await Promise.all([search.close(), assert.rejects(found, { code: 'store_unavailable' })])
  assert.equal(unref.mock.callCount(), 0)
})
