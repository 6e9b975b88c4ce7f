import type { DatabaseSync } from 'node:sqlite'
import { reasonOf, TriviumError } from '../../core/errors.ts'

/** In-memory state that mirrors the database and must follow commits and rollbacks. */
export type Follower = {
  /** Called inside the transaction, after the last call, as the last chance to write. */
  beforeCommit?(): void
  /** `whenSettled` registers work for when the calls of this transaction settle: after the flush, if any. */
  committed?(whenSettled: (work: () => void) => void): void
  rolledBack?(): void
}

export type Writer = ReturnType<typeof createWriter>

type Settled = { resolve(): void; reject(error: unknown): void }
type Call = Settled & { flush: boolean; run(): void }

/** `flush`: resolves once on disk. `soon`: in the next transaction. `later`: in the transaction after the current flush. */
type Urgency = 'flush' | 'soon' | 'later'

/**
 * Group commit: the calls of a turn share a transaction, and settle after `flush` (in the thread pool); later calls join the next one.
 * After a failed flush the kernel may have dropped pages unnoticed (https://wiki.postgresql.org/wiki/Fsync_Errors), so all later
 * calls are refused until the store is reopened.
 */
export function createWriter(db: DatabaseSync, address: string, flush: () => Promise<void>) {
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')
  const followers: Follower[] = []
  const waiting: Call[] = []
  /** Committed but not yet on disk: in the current flush, and waiting for the next. */
  let flushing: Settled[] = []
  let unflushed: Settled[] = []
  let lastFlush: Promise<void> = Promise.resolve()
  let mustFlush = false
  let scheduled = false
  let refusal: TriviumError | undefined

  function enter<T>(work: () => T, urgency: Urgency): Promise<T> {
    const flush = urgency === 'flush'
    if (refusal) return Promise.reject(refusal)
    return new Promise((resolve, reject) => {
      let result: T
      waiting.push({
        flush,
        run: () => {
          result = work()
        },
        resolve: () => resolve(result),
        reject,
      })
      mustFlush ||= flush
      if (urgency !== 'later' || flushing.length === 0) schedule()
    })
  }

  function schedule(): void {
    const hold = mustFlush && flushing.length > 0
    if (scheduled || hold || waiting.length === 0) return
    scheduled = true
    setImmediate(() => {
      scheduled = false
      commitWaiting()
      flushOn()
    })
  }

  function commitWaiting(): void {
    let calls = waiting.splice(0)
    mustFlush = false
    while (calls.length > 0) {
      const refused = attempt(calls)
      if (refused.size === 0) committed(calls)
      calls = refused.size === 0 ? [] : calls.filter((call) => !refused.has(call))
    }
  }

  /** Runs the calls in one transaction. Returns the refused ones: the one that failed, or all. */
  function attempt(calls: Call[]): Set<Call> {
    let current: Call | undefined
    try {
      begin.run()
      for (current of calls) current.run()
      current = undefined
      for (const follower of followers) follower.beforeCommit?.()
      commit.run()
      return new Set()
    } catch (error) {
      // SQLite rolls back by itself after some errors, such as a full disk.
      if (db.isTransaction) rollback.run()
      for (const follower of followers) follower.rolledBack?.()
      const refused = new Set(current && !isEnvironmental(error) ? [current] : calls)
      for (const call of refused) call.reject(toStoreError(address, error))
      return refused
    }
  }

  function committed(calls: Call[]): void {
    const settled: Settled[] = [...calls]
    const whenSettled = (resolve: () => void) => settled.push({ resolve, reject: () => {} })
    for (const follower of followers) follower.committed?.(whenSettled)
    if (calls.some(({ flush }) => flush)) unflushed.push(...settled)
    else for (const one of settled) one.resolve()
  }

  function flushOn(): void {
    if (flushing.length > 0 || unflushed.length === 0) return
    flushing = unflushed
    unflushed = []
    lastFlush = flush().then(flushed, failed)
  }

  function flushed(): void {
    for (const one of flushing.splice(0)) one.resolve()
    flushOn()
    schedule()
  }

  function failed(error: unknown): void {
    const reason = `the disk did not take what was written (${reasonOf(error)}); restart when it is well again`
    refusal = new TriviumError('store_unavailable', { store: address, reason }, { cause: error })
    for (const one of [...flushing.splice(0), ...unflushed.splice(0), ...waiting.splice(0)]) {
      one.reject(refusal)
    }
  }

  return {
    /** Runs `work` in this turn's transaction. Resolves with its result once on disk. An error undoes only this call. */
    write: <T>(work: () => T) => enter(work, 'flush'),
    /**
     * As `write`, but where only such calls share the transaction, it is not flushed: it outlives this process, and is
     * on the disk with the next `write`. Only for what is repeated without harm where a power failure undoes it. Without
     * `isUrgent` it waits for a flush that is under way, to share the transaction of what comes after it.
     */
    writeRepeatable: <T>(work: () => T, isUrgent = true) => enter(work, isUrgent ? 'soon' : 'later'),
    follow: (follower: Follower) => void followers.push(follower),
    /** Commits and flushes pending calls, and refuses later ones. */
    close: async () => {
      if (refusal) return
      commitWaiting()
      refusal = new TriviumError('store_unavailable', { store: address, reason: 'it is closed' })
      flushOn()
      while (flushing.length > 0) await lastFlush
    },
  }
}

/** PERM, BUSY, LOCKED, NOMEM, READONLY, INTERRUPT, IOERR, CORRUPT, FULL, CANTOPEN, PROTOCOL, NOLFS, NOTADB. */
const ENVIRONMENT = new Set([3, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 22, 26])

/** True if the environment failed, not a single call, so that the whole transaction fails. By primary code (https://sqlite.org/rescode.html). */
function isEnvironmental(error: unknown): boolean {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return false
  return ENVIRONMENT.has(error.errcode & 0xff)
}

/** The error that callers of the store see. */
export function toStoreError(store: string, error: unknown): unknown {
  if (!isEnvironmental(error)) return error
  return new TriviumError('store_unavailable', { store, reason: reasonOf(error) }, { cause: error })
}
