import type { DatabaseSync } from 'node:sqlite'
import type { Event } from '../../core/event.ts'
import type { Log } from '../../core/log.ts'
import type { Message } from '../../core/message.ts'
import { timeOf } from '../../core/message-id.ts'
import { toStoreError } from './failure.ts'
import { type Counters, createCounters, createNames, type Names } from './numbers.ts'
import { createRememberedKeys, type RememberedKeys } from './remembered-keys.ts'
import { createSignals, type Signals } from './signals.ts'
import { text } from './sql.ts'
import type { Writer } from './writer.ts'

/** What the parts of the store share. */
export type Parts = {
  db: DatabaseSync
  writer: Writer
  counters: Counters
  gateways: Names
  queues: Names
  keys: RememberedKeys
  signals: Signals
  now(): number
  /** The time for the next id: like `now`, but it never steps back, so that ids sort in journal order. */
  idTime(): number
  toEvent(message: Message): Event
  /** Runs a read now and turns a failure of the database into `store_unavailable`. */
  read<T>(work: () => T): Promise<T>
}

type Given = Pick<Parts, 'db' | 'writer' | 'now' | 'toEvent'> & { address: string; log: Log }

export function createParts({ db, writer, now, toEvent, address, log }: Given): Parts {
  return {
    db,
    writer,
    now,
    toEvent,
    counters: createCounters(db, writer),
    gateways: createNames(db, writer, 'gateway'),
    queues: createNames(db, writer, 'queue'),
    keys: createRememberedKeys(db, writer),
    signals: createSignals(writer, log),
    idTime: createIdTime(db, now),
    read: async (work) => {
      try {
        return work()
      } catch (error) {
        throw toStoreError(address, error)
      }
    },
  }
}

/** Time for ids that never steps back, also across restarts. */
function createIdTime(db: DatabaseSync, now: () => number): () => number {
  const row = db.prepare('SELECT id FROM journal ORDER BY seq DESC LIMIT 1').get()
  let last = row ? timeOf(text(row.id)) : 0
  return () => {
    last = Math.max(last, now())
    return last
  }
}
