import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

/**
 * A thread that copies the write-ahead log into the database; see database.ts. Each message is a request. The answer is the reason of a
 * failure, or empty. Plain JavaScript, because stripping types in this thread would take another 10 MB.
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
