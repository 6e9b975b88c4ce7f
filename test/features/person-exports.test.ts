import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createExports } from '../../src/features/person/exports.ts'
import { createEmbeddedStore } from '../../src/stores/embedded/index.ts'
import { silent, temporaryDir, toEvent } from './kit.ts'

const DAY = 86_400_000

test('the file of an export is removed a week after it was made', async (t) => {
  const { kv, close } = await createEmbeddedStore({ dir: temporaryDir(t), log: silent, toEvent })
  t.after(close)
  let time = 0
  const removed: string[] = []
  const exports = createExports({
    kv,
    now: () => Date.now() + time,
    artifacts: {
      async remove(sha256) {
        removed.push(sha256)
      },
    },
  })
  await exports.add(['*:alice@example.com'], 'aa')
  time = 2 * DAY
  await exports.add(['*:bob@example.com'], 'bb')
  await exports.removeOld()
  assert.deepEqual(removed, [])
  time = 7.5 * DAY
  await exports.removeOld()
  assert.deepEqual(removed, ['aa'])
  assert.deepEqual(await exports.hashes((identity) => identity === '*:bob@example.com'), ['bb'])
})
