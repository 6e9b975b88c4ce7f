import type { DatabaseSync } from 'node:sqlite'
import { TriviumError } from '../../core/errors.ts'
import { isEnvironmental, toStoreError } from './failure.ts'

/** How many calls one transaction takes at most; the rest waits for the next turn. */
const BATCH = 4_096

/** State in memory that mirrors the database and must follow what becomes of a transaction. */
export type Follower = {
  /** Called inside the transaction, after the last call: the last chance to write. */
  beforeCommit?(calls: number): void
  committed?(): void
  rolledBack?(): void
}

export type Writer = {
  /**
   * Runs `work` inside the transaction of this turn of the event loop and resolves with what it returned
   * after the commit, when it is on the disk. A throw undoes this call alone and rejects its promise.
   */
  write<T>(work: () => T): Promise<T>
  /**
   * As `write`, but where only such calls share the transaction, it is not flushed: it outlives this process, and is
   * on the disk with the next `write`. Only for what is repeated without harm where a power failure undoes it.
   */
  writeRepeatable<T>(work: () => T): Promise<T>
  follow(follower: Follower): void
  /** Commits what was asked for, then refuses everything. */
  close(): void
}

type Call = { flush: boolean; run(): void; resolve(): void; reject(error: unknown): void }

/**
 * Group commit: the calls of one turn become one transaction, because a commit costs a disk flush and a
 * call does not. Their promises are settled together after it.
 */
export function createWriter(db: DatabaseSync, address: string): Writer {
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')
  const followers: Follower[] = []
  const waiting: Call[] = []
  let flushes: boolean | undefined
  let scheduled = false
  let closed = false

  function enter<T>(work: () => T, flushIt: boolean): Promise<T> {
    if (closed) {
      return Promise.reject(new TriviumError('store_unavailable', { store: address, reason: 'it is closed' }))
    }
    return new Promise((resolve, reject) => {
      let result: T
      waiting.push({
        flush: flushIt,
        run: () => {
          result = work()
        },
        resolve: () => resolve(result),
        reject,
      })
      if (scheduled) return
      scheduled = true
      setImmediate(flush)
    })
  }

  function flush(): void {
    scheduled = false
    const batch = waiting.length > BATCH ? waiting.splice(0, BATCH) : waiting.splice(0)
    if (waiting.length > 0) {
      scheduled = true
      setImmediate(flush)
    }
    commitAll(batch)
  }

  function commitAll(batch: Call[]): void {
    let rest = batch
    while (rest.length > 0) {
      const failed = attempt(rest)
      if (failed === undefined) return
      rest = rest.filter((call) => call !== failed)
    }
  }

  /** One transaction over the calls. Returns the call that spoilt it, to try again without. */
  function attempt(calls: Call[]): Call | undefined {
    let current: Call | undefined
    try {
      synchronise(calls.some((call) => call.flush))
      begin.run()
      for (current of calls) current.run()
      current = undefined
      for (const follower of followers) follower.beforeCommit?.(calls.length)
      commit.run()
    } catch (error) {
      undo()
      const reason = toStoreError(address, error)
      if (current !== undefined && !isEnvironmental(error)) {
        current.reject(reason)
        return current
      }
      for (const call of calls) call.reject(reason)
      return undefined
    }
    for (const call of calls) call.resolve()
    for (const follower of followers) follower.committed?.()
    return undefined
  }

  function synchronise(flushIt: boolean): void {
    if (flushIt === flushes) return
    db.exec(`PRAGMA synchronous = ${flushIt ? 'FULL' : 'NORMAL'}`)
    flushes = flushIt
  }

  function undo(): void {
    // SQLite has already rolled back by itself after some errors, such as a full disk.
    if (db.isTransaction) rollback.run()
    for (const follower of followers) follower.rolledBack?.()
  }

  return {
    write: (work) => enter(work, true),
    writeRepeatable: (work) => enter(work, false),
    follow: (follower) => {
      followers.push(follower)
    },
    close: () => {
      closed = true
      while (waiting.length > 0) commitAll(waiting.splice(0, BATCH))
    },
  }
}
