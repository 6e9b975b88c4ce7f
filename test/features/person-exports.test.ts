import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createExports } from '../../src/features/person/exports.ts'
import { createEmbeddedStore } from '../../src/stores/embedded/index.ts'
import { silent, temporaryDir, toEvent } from './kit.ts'

const DAY = 86_400_000

const fileOf = (sha256: string) => ({ sha256, name: 'person.jsonl', path: `/data/${sha256}`, size: 7 })

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
  await exports.add(['*:alice@example.com'], fileOf('aa'), 1)
  time = 2 * DAY
  await exports.add(['*:bob@example.com'], fileOf('bb'), 1)
  await exports.removeOld()
  assert.deepEqual(removed, [])
  time = 7.5 * DAY
  await exports.removeOld()
  assert.deepEqual(removed, ['aa'])
  const keptOf = async (wanted: string) =>
    (await exports.kept((identity) => identity === wanted)).exports ?? []
  assert.deepEqual(await keptOf('*:alice@example.com'), [])
  assert.deepEqual(
    (await keptOf('*:bob@example.com')).map(({ file, records, until, at }) => [file, records, until - at]),
    [[fileOf('bb'), 1, 7 * DAY]],
  )
  assert.deepEqual(await exports.hashes((identity) => identity === '*:bob@example.com'), ['bb'])
})
