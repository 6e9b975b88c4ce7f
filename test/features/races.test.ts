import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createStateManager } from '../../src/features/documents/manager.ts'
import { notes, temporaryDir } from './kit.ts'

const script = fileURLToPath(import.meta.resolve('./race-writer.ts'))

test('processes that update the same document at once lose no increment', async (t) => {
  const [processes, times] = [4, 30]
  const dir = temporaryDir(t)
  const run = promisify(execFile)
  const writers = Array.from({ length: processes }, () => run(process.execPath, [script, dir, String(times)]))
  const acknowledged = (await Promise.all(writers)).flatMap(({ stdout }) => stdout.trim().split('\n'))
  assert.deepEqual(
    acknowledged.map(Number).sort((a, b) => a - b),
    Array.from({ length: processes * times }, (_, i) => i + 1),
  )
  const manager = createStateManager({ dir, documents: [notes] })
  const loaded = await manager.load('notes')
  assert.equal(loaded.document.count, processes * times)
  assert.deepEqual(await manager.replay('notes', { revision: loaded.revision }), loaded)
  await manager.close()
})
