import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

/**
 * Moves the write-ahead log into the database beside the event loop; see database.ts. A message is a request; the answer why it
 * failed, or empty. Plain JavaScript: what strips types would be loaded once more for this thread, and take 10 MB.
 */
const db = new DatabaseSync(String(workerData), { timeout: 5_000 })
db.exec('PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -2048')
const checkpoint = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')

parentPort?.on('message', () => {
  try {
    checkpoint.get()
    parentPort?.postMessage('')
  } catch (error) {
    parentPort?.postMessage(error instanceof Error ? error.message : String(error))
  }
})
