import { TriviumError } from '../../src/core/errors.ts'
import { createStateManager } from '../../src/features/documents/manager.ts'
import { increment, notes } from './kit.ts'

/** A separate process: increments the count `times` times, and prints each acknowledged count. */
const [dir = '', times = '1'] = process.argv.slice(2)
const manager = createStateManager({ dir, documents: [notes] })
for (let i = 0; i < Number(times); i += 1) {
  const { document } = await patiently(() => manager.update('notes', increment))
  process.stdout.write(`${document.count}\n`)
}
await manager.close()

/** Repeats work that did not get the lock in time on a busy machine. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof TriviumError && error.code === 'state_locked')) throw error
    }
  }
}
