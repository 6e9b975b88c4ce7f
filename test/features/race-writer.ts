import { createStateManager } from '../../src/features/documents/manager.ts'
import { increment, notes } from './kit.ts'

/** A process of its own: adds 1 `times` times and prints each count that was acknowledged, until it is killed. */
const [dir = '', times = '1'] = process.argv.slice(2)
const manager = createStateManager({ dir, documents: [notes] })
for (let i = 0; i < Number(times); i += 1) {
  const { document } = await manager.update('notes', increment)
  process.stdout.write(`${document.count}\n`)
}
await manager.close()
