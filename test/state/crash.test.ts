import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createFileBackend } from '../../src/state/file-backend.ts'
import { createStateManager } from '../../src/state/manager.ts'
import { crashRounds } from './crash-rounds.ts'
import { createFaultDisk } from './fault-disk.ts'
import { notes } from './manager.contract.ts'
import { temporaryDir } from './temporary.ts'

describe('State writes survive partial failures', () => {
  test('a writer killed at any step leaves the old or the new document and loses nothing acknowledged', async (t) => {
    assert.ok((await crashRounds(temporaryDir(t), { rounds: 150, seed: 1, powerLoss: false })) > 100)
  })

  test('a loss of power at any step loses nothing acknowledged', async (t) => {
    assert.ok((await crashRounds(temporaryDir(t), { rounds: 150, seed: 2, powerLoss: true })) > 100)
  })

  test('a step that fails fails the update, changes nothing, and the next one succeeds', async (t) => {
    for (let at = 1; at < 40; at += 1) {
      const dir = temporaryDir(t)
      const disk = createFaultDisk(at, 'error')
      const manager = createStateManager({ backend: createFileBackend({ dir, disk }), documents: [notes] })
      let done = 0
      for (let i = 0; i < 4; i += 1) {
        const one = manager.update('notes', (draft) => {
          draft.count = Number(draft.count) + 1
        })
        await one.then(
          () => {
            done += 1
          },
          (error: { code?: string }) => assert.equal(error.code, 'state_unwritable'),
        )
      }
      const again = createStateManager({ dir, documents: [notes] })
      assert.equal((await again.load('notes')).document.count, done, `step ${at}`)
      assert.deepEqual(
        await again.replay('notes', Date.now() + 1000),
        await again.load('notes'),
        `step ${at}`,
      )
      await Promise.all([again.close(), manager.close()])
    }
  })
})
