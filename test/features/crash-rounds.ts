import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createFileBackend } from '../../src/features/documents/file-backend.ts'
import { createStateManager } from '../../src/features/documents/manager.ts'
import { createFaultDisk, seeded } from './fault-disk.ts'
import { notes } from './kit.ts'

/**
 * Kills the writer at a random step of a write, `rounds` times on the same files, and looks each time: the
 * document is whole, no acknowledged mutation is lost, and events and document agree. Returns the final count.
 */
export async function crashRounds(
  dir: string,
  options: { rounds: number; seed: number; powerLoss: boolean },
): Promise<number> {
  const random = seeded(options.seed)
  let least = 0
  for (let round = 0; round < options.rounds; round += 1) {
    const where = `round ${round} of seed ${options.seed}`
    const disk = createFaultDisk(1 + Math.floor(random() * 60), 'crash')
    const attempted =
      least +
      (await writeUntilCrash(dir, disk, random, (count) => {
        least = Math.max(least, count)
      }))
    if (options.powerLoss) disk.losePower(random)
    const text = join(dir, 'notes.json')
    if (existsSync(text)) JSON.parse(readFileSync(text, 'utf8'))
    const count = await verify(dir, where)
    assert.ok(count >= least, `${where}: ${least} were acknowledged, ${count} are there`)
    assert.ok(count <= attempted, `${where}: ${attempted} were tried, ${count} are there`)
    least = count
    for (const file of readdirSync(dir)) {
      if (file.endsWith('.tmp') || file.endsWith('.before')) rmSync(join(dir, file))
    }
  }
  return least
}

async function writeUntilCrash(
  dir: string,
  disk: ReturnType<typeof createFaultDisk>,
  random: () => number,
  acknowledged: (count: number) => void,
): Promise<number> {
  const manager = createStateManager({
    backend: createFileBackend({ dir, disk, maxLogSize: 6000 }),
    documents: [notes],
  })
  let tried = 0
  while (!disk.isDown() && tried < 100) {
    const batch = 1 + Math.floor(random() * 4)
    tried += batch
    const all = Array.from({ length: batch }, async () => {
      const { document } = await manager.update('notes', (draft) => {
        draft.count = Number(draft.count) + 1
        draft.notes = Array.from({ length: Number(draft.count) % 7 }, (_, i) => ({
          id: `n${i}`,
          text: 'x'.repeat(20),
        }))
      })
      acknowledged(Number(document.count))
    })
    await Promise.allSettled(all)
  }
  await manager.close()
  return tried
}

async function verify(dir: string, where: string): Promise<number> {
  const manager = createStateManager({ dir, documents: [notes] })
  try {
    const loaded = await manager.load('notes')
    const replayed = await manager.replay('notes', { revision: Number.MAX_SAFE_INTEGER })
    assert.deepEqual(replayed, loaded, `${where}: events and document disagree`)
    return Number(loaded.document.count)
  } catch (error) {
    throw new Error(where, { cause: error })
  } finally {
    await manager.close()
  }
}
