import type { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { reasonOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { Writer } from './writer.ts'

/** Commits between two checkpoints. */
const EVERY = 64
/** From this many pages on, the log is started over, so that it does not grow without end under load. */
const LONG = 4_000

export type Checkpointer = { close(): Promise<void> }

type Answer = { pages: number } | { error: string }

/**
 * Keeps the write-ahead log short. Copying thousands of pages and flushing them would stall every
 * message that arrives meanwhile, so a worker does it. Under constant load the worker never sees the end
 * of the log; once the log is long, the little that is left is copied here, and the next commit starts the
 * log over.
 */
export function createCheckpointer(db: DatabaseSync, writer: Writer, path: string, log: Log): Checkpointer {
  const finish = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')
  const worker = new Worker(new URL('./checkpoint-worker.js', import.meta.url), { workerData: path })
  worker.unref()
  let commits = 0
  let busy = false
  let closed = false

  worker.on('message', (answer: Answer) => {
    busy = false
    if (closed) return
    if ('error' in answer)
      log.warn({ reason: answer.error }, 'a checkpoint of the store failed; it will be tried again')
    else if (answer.pages >= LONG) finishHere()
  })
  worker.on('error', (error) => {
    log.error(
      { reason: reasonOf(error) },
      'the checkpoint thread of the store failed; checkpoints go on without it',
    )
    closed = true
    writer.follow({ committed: () => every(finishHere) })
  })
  writer.follow({ committed: () => every(ask) })

  function every(work: () => void): void {
    commits++
    if (commits >= EVERY) work()
  }

  function ask(): void {
    if (busy || closed) return
    busy = true
    commits = 0
    worker.postMessage('checkpoint')
  }

  function finishHere(): void {
    commits = 0
    try {
      finish.get()
    } catch (error) {
      log.warn({ reason: reasonOf(error) }, 'a checkpoint of the store failed; it will be tried again')
    }
  }

  return {
    close: async () => {
      closed = true
      await worker.terminate()
    },
  }
}
