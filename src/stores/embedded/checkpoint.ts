import { Worker } from 'node:worker_threads'
import { reasonOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { Writer } from './writer.ts'

/** Commits between two checkpoints. */
const EVERY = 64

/**
 * Keeps the write-ahead log short. Copying thousands of pages and flushing them would stall every message that arrives
 * meanwhile, so a worker does it. Under constant load the worker never sees the end of the log: what is left then is
 * copied by SQLite itself, as `wal_autocheckpoint` in database.ts says.
 */
export function createCheckpointer(writer: Writer, path: string, log: Log): { close(): Promise<void> } {
  const worker = new Worker(new URL('./checkpoint-worker.js', import.meta.url), { workerData: path })
  worker.unref()
  let commits = 0
  let busy = false

  worker.on('message', (failure: string) => {
    busy = false
    if (failure) log.warn({ reason: failure }, 'a checkpoint of the store failed; it will be tried again')
  })
  worker.on('error', (error) => {
    busy = true
    log.error(
      { reason: reasonOf(error) },
      'the checkpoint thread of the store failed; checkpoints go on without it',
    )
  })
  writer.follow({
    committed: () => {
      commits++
      if (busy || commits < EVERY) return
      busy = true
      commits = 0
      worker.postMessage('checkpoint')
    },
  })
  return {
    close: async () => {
      await worker.terminate()
    },
  }
}
