import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createFileBackend } from '../../src/features/documents/file-backend.ts'
import { createStateManager } from '../../src/features/documents/manager.ts'
import { createFaultDisk, type FaultDisk, seeded } from './fault-disk.ts'
import { notes } from './kit.ts'

/**
 * Kills the writer at a random step of a write, `rounds` times on the same files. Checks each time
 * that the document is complete, that no acknowledged mutation is lost, and that a replay of its
 * events gives the document. Returns the final count.
 */
export async function crashRounds(
  dir: string,
  options: { rounds: number; seed: number; powerLoss: boolean },
): Promise<number> {
  const random = seeded(options.seed)
  let count = 0
  for (let round = 0; round < options.rounds; round += 1) {
    const where = `round ${round} of seed ${options.seed}`
    const disk = createFaultDisk(1 + Math.floor(random() * 60), 'crash')
    const { attempts, acknowledged } = await writeUntilCrash(dir, disk, random)
    if (options.powerLoss) disk.losePower(random)
    const path = join(dir, 'notes.json')
    if (existsSync(path)) JSON.parse(readFileSync(path, 'utf8'))
    const [atLeast, atMost] = [Math.max(count, acknowledged), count + attempts]
    count = await verify(dir, where)
    assert.ok(count >= atLeast, `${where}: ${atLeast} were acknowledged, ${count} are stored`)
    assert.ok(count <= atMost, `${where}: ${atMost} were attempted, ${count} are stored`)
    for (const file of readdirSync(dir)) {
      if (file.endsWith('.tmp') || file.endsWith('.before')) rmSync(join(dir, file))
    }
  }
  return count
}

/** Returns the number of attempted mutations, and the highest count that was acknowledged. */
async function writeUntilCrash(dir: string, disk: FaultDisk, random: () => number) {
  const manager = createStateManager({
    backend: createFileBackend({ dir, disk, maxLogSize: 6000 }),
    documents: [notes],
  })
  let [attempts, acknowledged] = [0, 0]
  while (!disk.isDown() && attempts < 100) {
    const batch = 1 + Math.floor(random() * 4)
    attempts += batch
    const all = Array.from({ length: batch }, async () => {
      const { document } = await manager.update('notes', (draft) => {
        draft.count = Number(draft.count) + 1
        draft.notes = Array.from({ length: Number(draft.count) % 7 }, (_, i) => ({
          id: `n${i}`,
          text: 'x'.repeat(20),
        }))
      })
      acknowledged = Math.max(acknowledged, Number(document.count))
    })
    await Promise.allSettled(all)
  }
  await manager.close()
  return { attempts, acknowledged }
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
