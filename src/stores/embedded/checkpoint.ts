import type { DatabaseSync } from 'node:sqlite'
import type { Log } from '../../core/log.ts'
import type { Writer } from './writer.ts'

const EVERY = 64

export type Checkpointer = { close(): Promise<void> }

export function createCheckpointer(
  db: DatabaseSync,
  writer: Writer,
  _address: string,
  _log: Log,
): Checkpointer {
  const checkpoint = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')
  let commits = 0
  writer.follow({
    committed: () => {
      commits++
      if (commits % EVERY === 0) checkpoint.all()
    },
  })
  return { close: async () => {} }
}
