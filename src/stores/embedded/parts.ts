import type { DatabaseSync } from 'node:sqlite'
import type { Event } from '../../core/event.ts'
import type { Message } from '../../core/message.ts'
import type { Counters } from './counters.ts'
import type { Names } from './names.ts'
import type { RememberedKeys } from './remembered-keys.ts'
import type { Signals } from './signals.ts'
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
