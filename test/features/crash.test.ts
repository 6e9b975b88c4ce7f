import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createFileBackend } from '../../src/features/documents/file-backend.ts'
import { createStateManager } from '../../src/features/documents/manager.ts'
import { crashRounds } from './crash-rounds.ts'
import { createFaultDisk } from './fault-disk.ts'
import { increment, notes, temporaryDir } from './kit.ts'

describe('a document', () => {
  for (const { what, powerLoss, seed } of [
    { what: 'the writer dies', powerLoss: false, seed: 1 },
    { what: 'the power fails', powerLoss: true, seed: 2 },
  ]) {
    test(`keeps each acknowledged mutation if ${what} at any step of a write`, async (t) => {
      const count = await crashRounds(temporaryDir(t), { rounds: 50, seed, powerLoss })
      assert.ok(count > 25, `${count} mutations`)
    })
  }

  test('is unchanged by an update with a step that fails; the next update succeeds', async (t) => {
    for (let step = 1; step < 40; step += 1) {
      const dir = temporaryDir(t)
      const disk = createFaultDisk(step, 'error')
      const manager = createStateManager({ backend: createFileBackend({ dir, disk }), documents: [notes] })
      let updates = 0
      for (let i = 0; i < 4; i += 1) {
        await manager.update('notes', increment).then(
          () => {
            updates += 1
          },
          (error: { code?: string }) => assert.equal(error.code, 'state_unwritable'),
        )
      }
      const reopened = createStateManager({ dir, documents: [notes] })
      // If the sync of the folder fails after the rename, the update is refused, but its text is
      // there.
      const maximum = updates + Number(disk.failedAtDir())
      const loaded = await reopened.load('notes')
      const count = Number(loaded.document.count)
      assert.ok(count >= updates && count <= maximum, `step ${step}: ${count} of ${updates}`)
      assert.deepEqual(await reopened.replay('notes', Date.now() + 1000), loaded, `step ${step}`)
      await Promise.all([reopened.close(), manager.close()])
    }
  })
})
