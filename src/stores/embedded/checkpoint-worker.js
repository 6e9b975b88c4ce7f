import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

/**
 * A thread that copies the write-ahead log into the database; see checkpointer.ts. Each message is
 * a request. The answer is `{ failure }` with the reason, or `{ isLong }`: whether the log is so
 * long that it should start over. Plain JavaScript: stripping types in this thread would take
 * another 10 MB.
 */
const { path, long } = workerData
const db = new DatabaseSync(path, { timeout: 5_000 })
db.exec('PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -2048')
const checkpoint = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')

/** Returns whether the log is long. */
function copy() {
  const isLong = Number(checkpoint.get()?.log) >= long
  // The writer adds many pages during the first pass. The second pass leaves only a few, which
  // checkpointer.ts copies.
  if (isLong) checkpoint.get()
  return isLong
}

parentPort?.on('message', () => {
  try {
    parentPort?.postMessage({ isLong: copy() })
  } catch (error) {
    parentPort?.postMessage({ failure: error instanceof Error ? error.message : String(error) })
  }
})
