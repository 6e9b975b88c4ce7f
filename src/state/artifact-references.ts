import { DatabaseSync } from 'node:sqlite'

/** Who names which artifact, shared by all processes on one data dir. */
export type ArtifactReferences = {
  /** Adds a pair, durably, after `check` passed inside the same transaction. */
  add(sha256: string, owner: string, check: () => void): void
  drop(owner: string): number
  owners(sha256: string): string[]
  /** Runs `work` while no other process adds a reference or runs its own. `work` must be short. */
  exclusively<T>(work: () => T): T
  close(): void
}

/** Opens the references at `path` with the first call; `prepare` makes the directory. */
export function createArtifactReferences(path: string, prepare: () => void): ArtifactReferences {
  let opened: DatabaseSync | undefined
  const database = () => {
    if (opened) return opened
    prepare()
    opened = open(path)
    return opened
  }
  const exclusively = <T>(work: () => T): T => {
    const db = database()
    db.exec('BEGIN IMMEDIATE')
    try {
      const result = work()
      db.exec('COMMIT')
      return result
    } catch (error) {
      db.exec('ROLLBACK')
      throw error
    }
  }

  return {
    add(sha256, owner, check) {
      exclusively(() => {
        check()
        database().prepare('INSERT OR IGNORE INTO reference (sha256, owner) VALUES (?, ?)').run(sha256, owner)
      })
    },
    drop: (owner) => Number(database().prepare('DELETE FROM reference WHERE owner = ?').run(owner).changes),
    owners: (sha256) =>
      database()
        .prepare('SELECT owner FROM reference WHERE sha256 = ? ORDER BY owner')
        .all(sha256)
        .map((row) => String(row.owner)),
    exclusively,
    close() {
      opened?.close()
      opened = undefined
    },
  }
}

function open(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: 5000 })
  db.exec(`PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS reference (
      sha256 TEXT NOT NULL, owner TEXT NOT NULL, PRIMARY KEY (sha256, owner)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS reference_owner ON reference (owner);`)
  return db
}
