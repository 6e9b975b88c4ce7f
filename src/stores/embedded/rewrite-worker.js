import { DatabaseSync } from 'node:sqlite'
import { workerData } from 'node:worker_threads'

/**
 * A thread that writes a database anew; see overwrite.ts. Plain JavaScript, because stripping types
 * would take another 10 MB.
 */
const db = new DatabaseSync(workerData.path, { timeout: 5_000 })
db.exec('PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -2048; VACUUM')
db.close()
