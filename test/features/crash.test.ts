import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createFileBackend } from '../../src/features/documents/file-backend.ts'
import { createStateManager } from '../../src/features/documents/manager.ts'
import { crashRounds } from './crash-rounds.ts'
import { createFaultDisk } from './fault-disk.ts'
import { increment, notes, temporaryDir } from './kit.ts'

describe('State writes survive partial failures', () => {
  for (const [what, powerLoss] of [
    ['the death of the writer', false],
    ['a loss of power', true],
  ] as const) {
    test(`${what} at any step leaves the old or the new document and loses nothing acknowledged`, async (t) => {
      assert.ok(
        (await crashRounds(temporaryDir(t), { rounds: 50, seed: 1 + Number(powerLoss), powerLoss })) > 25,
      )
    })
  }

  test('a step that fails fails the update, changes nothing, and the next one succeeds', async (t) => {
    for (let at = 1; at < 40; at += 1) {
      const dir = temporaryDir(t)
      const disk = createFaultDisk(at, 'error')
      const manager = createStateManager({ backend: createFileBackend({ dir, disk }), documents: [notes] })
      let done = 0
      for (let i = 0; i < 4; i += 1) {
        await manager.update('notes', increment).then(
          () => {
            done += 1
          },
          (error: { code?: string }) => assert.equal(error.code, 'state_unwritable'),
        )
      }
      const again = createStateManager({ dir, documents: [notes] })
      // After the rename the text is there, though nobody can say whether a loss of power would take it.
      const most = done + Number(disk.failedAtDir())
      const { count } = (await again.load('notes')).document
      assert.ok(Number(count) >= done && Number(count) <= most, `step ${at}: ${count} of ${done}`)
      assert.deepEqual(
        await again.replay('notes', Date.now() + 1000),
        await again.load('notes'),
        `step ${at}`,
      )
      await Promise.all([again.close(), manager.close()])
    }
  })
})
