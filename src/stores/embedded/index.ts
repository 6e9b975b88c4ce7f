import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Event } from '../../core/event.ts'
import type { Log } from '../../core/log.ts'
import type { Message } from '../../core/message.ts'
import { timeOf } from '../../core/message-id.ts'
import type { Store } from '../../core/store.ts'
import { createCheckpointer } from './checkpoint.ts'
import { createCounters } from './counters.ts'
import { openDatabase } from './database.ts'
import { toStoreError } from './failure.ts'
import { createJobRows } from './job-rows.ts'
import { createJobs } from './jobs.ts'
import { createJournal } from './journal.ts'
import { createKeyValues } from './key-values.ts'
import { createLeases } from './leases.ts'
import { lockDirectory } from './lock.ts'
import { createNames } from './names.ts'
import type { Parts } from './parts.ts'
import { createReceive } from './receive.ts'
import { createRememberedKeys } from './remembered-keys.ts'
import { createSignals } from './signals.ts'
import { text } from './sql.ts'
import { createStats } from './stats.ts'
import { createTopicLog } from './topic-log.ts'
import { createTopics } from './topics.ts'
import { createTrim } from './trim.ts'
import { openWalFile } from './wal-file.ts'
import { createWriter } from './writer.ts'

/** The queue that the pump adds to. */
const DISPATCH = 'dispatch'

export type EmbeddedOptions = {
  /** The data directory; made where it is missing. The database is `trivium.db` in it. */
  dir: string
  /** Makes the event of a message for the topic `gateway-message`. Its id must be that of the message. */
  toEvent(message: Message): Event
  log: Log
  /** Unix time in ms. */
  now?: () => number
}

/**
 * Opens the store in one SQLite file, for one process at a time. Throws `store_locked` where another
 * process has it open and `store_version` where a newer Trivium made it.
 */
export async function createEmbeddedStore(options: EmbeddedOptions): Promise<Store> {
  const { dir, toEvent, log, now = Date.now } = options
  mkdirSync(dir, { recursive: true })
  const unlock = lockDirectory(dir)
  try {
    return openStore(dir, toEvent, log, now, unlock)
  } catch (error) {
    unlock()
    throw toStoreError(join(dir, 'trivium.db'), error)
  }
}

function openStore(
  dir: string,
  toEvent: Parts['toEvent'],
  log: Log,
  now: () => number,
  unlock: () => void,
): Store {
  const address = join(dir, 'trivium.db')
  const db = openDatabase(dir)
  const wal = openWalFile(address)
  const writer = createWriter(db, address, wal)
  const parts: Parts = {
    db,
    writer,
    counters: createCounters(db, writer),
    gateways: createNames(db, writer, 'gateway'),
    queues: createNames(db, writer, 'queue'),
    keys: createRememberedKeys(db, writer),
    signals: createSignals(writer, log),
    now,
    idTime: createIdTime(db, now),
    toEvent,
    read: async (work) => {
      try {
        return work()
      } catch (error) {
        throw toStoreError(address, error)
      }
    },
  }
  const rows = createJobRows(parts)
  const journal = createJournal(parts, (jobs) => {
    for (const job of jobs) rows.insert(parts.queues.number(DISPATCH), DISPATCH, job)
  })
  const topicLog = createTopicLog(parts, journal)
  const checkpointer = createCheckpointer(db, writer, address, log)
  const ping = db.prepare('SELECT 1')
  let closed = false
  return {
    kind: 'embedded',
    address,
    journal,
    receive: createReceive(parts, journal),
    topics: createTopics(parts, topicLog),
    jobs: createJobs(parts, rows, journal),
    kv: createKeyValues(parts),
    leases: createLeases(parts),
    onSignal: parts.signals.on,
    ping: async () => {
      // A full disk can still be read, so after a failure only a write tells.
      if (!writer.check()) await writer.write(() => parts.counters.add('probes', 1))
      await parts.read(() => ping.get())
    },
    stats: createStats(parts),
    trim: createTrim(parts),
    close: async () => {
      if (closed) return
      closed = true
      writer.close()
      await checkpointer.close()
      await wal.close()
      db.close()
      unlock()
    },
  }
}

/** Time for ids that never steps back, also across restarts. */
function createIdTime(db: Parts['db'], now: () => number): () => number {
  const row = db.prepare('SELECT id FROM journal ORDER BY seq DESC LIMIT 1').get()
  let last = row ? timeOf(text(row.id)) : 0
  return () => {
    last = Math.max(last, now())
    return last
  }
}
