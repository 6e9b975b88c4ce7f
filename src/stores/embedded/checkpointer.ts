import type { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { reasonOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { LONG_LOG } from './database.ts'
import type { Writer } from './writer.ts'

/** Commits between two checkpoints. */
const COMMITS_PER_CHECKPOINT = 64

type Answer = { isLong: boolean } | { failure: string }

/**
 * Keeps the write-ahead log short, in a worker: copying and flushing thousands of pages would block
 * all messages. Under constant load the worker never reaches the end of the log. So once the log is
 * long, the few pages that the worker left are copied here, between two transactions, and the next
 * transaction starts the log over. `every`: commits between two checkpoints. `long`: number of
 * pages of a log that should start over. Returns a function that stops the worker.
 */
export function createCheckpointer(
  db: DatabaseSync,
  writer: Writer,
  path: string,
  log: Log,
  { every = COMMITS_PER_CHECKPOINT, long = LONG_LOG } = {},
) {
  const finish = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')
  let worker: Worker | undefined
  let commits = 0
  let busy = false
  let isEnded = false

  const failed = (reason: string) =>
    log.warn({ reason }, 'a checkpoint of the store failed; it will be tried again')

  function answered(answer: Answer): void {
    busy = false
    if ('failure' in answer) failed(answer.failure)
    else if (answer.isLong && !isEnded) {
      try {
        finish.get()
      } catch (error) {
        failed(reasonOf(error))
      }
    }
  }

  function begin(): Worker {
    const workerData = { path, long }
    const made = new Worker(new URL('./checkpoint-worker.js', import.meta.url), { workerData })
    made.unref()
    made.on('message', answered)
    made.on('error', (error) => {
      // From now on, the thread gets no requests.
      busy = true
      log.error(
        { reason: reasonOf(error) },
        'the checkpoint thread of the store failed; SQLite makes the checkpoints now, which may delay messages',
      )
    })
    return made
  }

  writer.follow({
    committed: () => {
      commits++
      if (busy || commits < every) return
      busy = true
      commits = 0
      // Created on first use, so that the start needs no thread.
      worker ??= begin()
      worker.postMessage('checkpoint')
    },
  })
  return () => {
    isEnded = true
    return worker?.terminate()
  }
}
