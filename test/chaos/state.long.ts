import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createStateManager } from '../../src/features/documents/manager.ts'
import { crashRounds } from '../features/crash-rounds.ts'
import { notes, temporaryDir } from '../features/kit.ts'

const writer = fileURLToPath(import.meta.resolve('../features/race-writer.ts'))
const WRITES = 4
const STRACE = 'strace'

describe('documents under thousands of crashes', () => {
  for (const powerLoss of [false, true]) {
    const fault = powerLoss ? 'a power failure' : 'the death of the writer'
    test(`${fault} at any step loses no acknowledged write`, { timeout: 600_000 }, async (t) => {
      for (let seed = 10; seed < 15; seed += 1) {
        await crashRounds(temporaryDir(t), { rounds: 400, seed, powerLoss })
      }
    })
  }

  test('a writer killed at any of its system calls leaves a complete document', {
    timeout: 600_000,
  }, async (t) => {
    if (spawnSync(STRACE, ['-V']).status !== 0) return t.skip('strace is not installed')
    for (const call of ['fsync', 'rename', 'pwrite64', 'write', 'ftruncate']) {
      for (let when = 1; when <= 24; when += 1) {
        const dir = temporaryDir(t)
        const inject = `inject=${call}:signal=SIGKILL:when=${when}`
        const options = ['-f', '-qq', '-o', '/dev/null', '-e', `trace=${call}`, '-e', inject]
        const command = [process.execPath, writer, dir, String(WRITES)]
        const { stdout, signal } = spawnSync(STRACE, [...options, ...command], { encoding: 'utf8' })
        const acknowledged = Math.max(0, ...stdout.split('\n').slice(0, -1).map(Number))
        const manager = createStateManager({ dir, documents: [notes] })
        const loaded = await manager.load('notes')
        const count = Number(loaded.document.count)
        const where = `${call} number ${when}`
        assert.ok(
          count >= acknowledged && count <= acknowledged + 1,
          `${where}: ${acknowledged} acknowledged, ${count} stored`,
        )
        assert.deepEqual(await manager.replay('notes', Date.now() + 1000), loaded, where)
        await manager.close()
        if (signal === null && acknowledged === WRITES) break
      }
    }
  })
})
