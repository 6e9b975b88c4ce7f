import { closeSync, fdatasync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { timeIn, timeOf } from '../../core/message-id.ts'
import type { Store, StoreStats } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import { syncDir } from '../../lib/disk.ts'
import { createLeases } from '../shared/leases.ts'
import { heldLanes, oldestOf, WAITING, waitingJob } from '../shared/values.ts'
import { createCheckpointer } from './checkpointer.ts'
import { lockDirectory, openDatabase } from './database.ts'
import { createErasing } from './erasing.ts'
import { STATE } from './job-rows.ts'
import { createJobs } from './jobs.ts'
import { createJournal } from './journal.ts'
import { createKeyValues } from './key-values.ts'
import { createOverwrite } from './overwrite.ts'
import { createParts, type EmbeddedOptions, type Parts } from './parts.ts'
import { createReceive } from './receive.ts'
import { repairTimes } from './repair.ts'
import { createSearch } from './search.ts'
import { checkSpace } from './space.ts'
import { toStoreError } from './store-error.ts'
import { createTopics } from './topics.ts'
import { createTrim } from './trim.ts'
import { createWriter } from './writer.ts'

const flush = promisify(fdatasync)

/**
 * Opens the store in one SQLite file, for one process at a time. Throws `store_locked`, or
 * `store_version` for a newer store.
 */
export function createEmbeddedStore(options: EmbeddedOptions): Promise<Store> {
  const address = join(options.dir, 'trivium.db')
  return openStore(options, address).catch((error) => Promise.reject(toStoreError(address, error)))
}

async function openStore(options: EmbeddedOptions, address: string): Promise<Store> {
  const { dir, log } = options
  mkdirSync(dir, { recursive: true })
  await using opened = new AsyncDisposableStack()
  opened.use(options.lock ?? lockDirectory(dir))
  const db = opened.adopt(openDatabase(dir), (db) => db.close())
  repairTimes(db, (options.now ?? Date.now)(), log)
  // SQLite's locks are on the database and the `-shm` file, so closing this handle releases none
  // (https://sqlite.org/howtocorrupt.html, 2.2). Windows flushes only writable handles.
  const wal = opened.adopt(openSync(`${address}-wal`, 'r+'), closeSync)
  // A new log file must survive a power failure. Windows cannot flush a folder.
  if (process.platform !== 'win32') await syncDir(dir)
  const writer = createWriter(db, address, () => flush(wal))
  const parts = createParts(db, writer, address, options)
  const search = opened.adopt(createSearch(parts, address), ({ close }) => close())
  const journal = createJournal(parts, { search: search.search, countByTime: search.countByTime })
  const kv = createKeyValues(parts)
  const { forgetClaim, ...jobs } = createJobs(parts, journal)
  opened.adopt(createCheckpointer(db, writer, address, log), async (end) => void (await end()))
  opened.defer(writer.close)
  const store = opened.move()
  return {
    kind: 'embedded',
    address,
    journal,
    receive: createReceive(parts, journal),
    topics: createTopics(parts, journal),
    jobs,
    kv,
    erasing: createErasing(parts, journal, forgetClaim, createOverwrite(writer, db, address, log)),
    leases: createLeases(kv),
    onSignal: parts.signals.on,
    awayAt: () => 0,
    ping: async () => {
      await writer.write(() => parts.counters.add('probes', 1))
      await checkSpace(dir, address)
    },
    stats: createStats(parts),
    oldestWaiting: createOldestWaiting(parts),
    trim: createTrim(parts),
    close: () => store.disposeAsync(),
  }
}

type Named = { id: number; name: string }

/**
 * Counts for `/metrics` and `status`, from counters and first rows, at a cost independent of the
 * size of the store.
 */
function createStats({ sql, counters, ready, read }: Parts): () => Promise<StoreStats> {
  const ageAfter = (seq: number) => {
    const row = sql.get<{ id: string }>`SELECT id FROM journal WHERE seq > ${seq} ORDER BY seq LIMIT 1`
    return row && { oldestAt: timeOf(row.id) }
  }
  const oldestDeath = (queue: number) =>
    sql.get<{ at: number }>`SELECT at FROM dead WHERE queue = ${queue} ORDER BY n LIMIT 1`?.at

  return () =>
    read(() => {
      const pump = counters.get('pump')
      const oldest = ready.oldest()
      const { leased = 0 } = sql.get<{ leased: number }>`SELECT count(*) AS leased FROM leased` ?? {}
      const lost = sql.all<Named>`SELECT id, name FROM gateway`
        .map(({ id, name }) => [name, counters.get(`lost ${id}`)] as const)
        .filter(([, count]) => count > 0)
      const jobs = sql.all<Named & { running: number; first: string | null }>`SELECT id, name,
          (SELECT count(*) FROM job WHERE queue = q.id AND state = 2) AS running,
          (SELECT min(id) FROM job WHERE queue = q.id) AS first
        FROM queue q ORDER BY name`
      return {
        journal: { messages: counters.get('messages'), ...ageAfter(0) },
        receive: {
          ready: counters.get('ready'),
          leased,
          lost: Object.fromEntries(lost),
          ...(oldest && ageAfter(oldest.seq - 1)),
        },
        dispatch: { unpumped: counters.get('journal') - pump, ...ageAfter(pump) },
        jobs: jobs.map(({ id, name: queue, running, first }) => {
          const waiting = counters.get(`jobs ${id}`) - running
          // Ids sort by time, also after the name of a queue.
          const oldestAt = timeIn(first ?? '')
          const dead = counters.get(`dead ${id}`)
          const deadAt = dead > 0 ? oldestDeath(id) : undefined
          return { queue, waiting, running, dead, ...defined({ oldestAt, deadAt }) }
        }),
      }
    })
}

/**
 * The oldest waiting work. Reads a few index steps per gateway, and the oldest jobs of each queue.
 */
function createOldestWaiting({ sql, counters, ready, read, now }: Parts): Store['oldestWaiting'] {
  const of = (road: string, gateway: string, row: { id: string } | undefined) =>
    row ? [{ road, gateway, oldestAt: timeOf(row.id) }] : []

  return () =>
    read(() => {
      const pump = counters.get('pump')
      const messages = sql.all<Named>`SELECT id, name FROM gateway`.flatMap(({ id, name }) => [
        ...of('receive', name, sql.get`SELECT id FROM journal WHERE seq = ${ready.oldest(id)?.seq ?? 0}`),
        ...of(
          'dispatch',
          name,
          sql.get`SELECT id FROM journal WHERE gateway = ${id} AND seq > ${pump} ORDER BY seq LIMIT 1`,
        ),
      ])
      const jobs = sql.all<Named>`SELECT id, name FROM queue`.flatMap(({ id, name }) => {
        // Ids sort by time.
        const rows =
          sql.all<WaitingRow>`SELECT id, lane, state, due, failures, kept IS NOT NULL AS requeued FROM job
            WHERE queue = ${id} ORDER BY id LIMIT ${WAITING.jobs} + 0`.filter(
            ({ state }) => state !== STATE.claimed,
          )
        const held = heldLanes(rows.map(({ lane, state }) => ({ lane, isHeld: state === STATE.held })))
        return rows.map((job) =>
          waitingJob({ ...job, road: name, isHeld: held.has(job.lane), ...timesOf(job, now()) }),
        )
      })
      return oldestOf([...messages, ...jobs])
    })
}

type WaitingRow = { id: string; lane: string; state: number; due: number; failures: number; requeued: number }

/**
 * `due` is when the job was added or became the head of its lane; after a failed attempt, when the
 * next attempt may begin.
 */
function timesOf({ state, due, failures, requeued }: WaitingRow, now: number) {
  const isRetrying = state === STATE.head && (failures > 0 || due > now)
  return {
    requeuedAt: requeued === 1 ? Math.min(due, now) : undefined,
    dueAt: isRetrying ? due : undefined,
  }
}
