import type { DatabaseSync } from 'node:sqlite'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { createFlushes, type Settled } from './flushes.ts'
import { createHold } from './hold.ts'
import { createTransactions } from './transactions.ts'

export type Writer = ReturnType<typeof createWriter>

/** `isFlushed`: it settles once it is on disk. */
type Call = Settled & { isFlushed: boolean; run(): void }

type Urgency =
  /** Resolves once on disk. */
  | 'flush'
  /** In the next transaction. */
  | 'soon'
  /** In the transaction after the current flush. */
  | 'later'

/**
 * Group commit: the calls of a turn share a transaction, and settle after `flush` (in the thread
 * pool); later calls join the next one. After a failed flush the kernel may have dropped pages
 * unnoticed (https://wiki.postgresql.org/wiki/Fsync_Errors), so all later calls are refused until
 * the store is reopened.
 */
export function createWriter(db: DatabaseSync, address: string, flush: () => Promise<void>) {
  const transactions = createTransactions(db, address)
  const flushes = createFlushes(flush, { flushed: schedule, failed })
  const waiting: Call[] = []
  /** Work of other connections, during which nothing is committed here. */
  const others = createHold(schedule)
  let mustFlush = false
  let scheduled = false
  let refusal: TriviumError | undefined

  function enter<T>(work: () => T, urgency: Urgency): Promise<T> {
    const isFlushed = urgency === 'flush'
    if (refusal) return Promise.reject(refusal)
    return new Promise((resolve, reject) => {
      let result: T
      waiting.push({
        isFlushed,
        run: () => {
          result = work()
        },
        resolve: () => resolve(result),
        reject,
      })
      mustFlush ||= isFlushed
      if (urgency !== 'later' || !flushes.isRunning()) schedule()
    })
  }

  function schedule(): void {
    const mustWait = others.isHeld() || (mustFlush && flushes.isRunning())
    if (scheduled || mustWait || waiting.length === 0) return
    scheduled = true
    setImmediate(() => {
      scheduled = false
      if (others.isHeld()) return
      commitWaiting()
      flushes.start()
    })
  }

  function commitWaiting(): void {
    mustFlush = false
    const calls = transactions.commit(waiting.splice(0))
    if (calls.length === 0) return
    const settled: Settled[] = [...calls]
    transactions.committed((resolve) => settled.push({ resolve, reject: () => {} }))
    if (calls.some(({ isFlushed }) => isFlushed)) flushes.add(settled)
    else for (const one of settled) one.resolve()
  }

  function failed(error: unknown, lost: readonly Settled[]): void {
    const reason = `writing to the disk failed (${reasonOf(error)}); restart Trivium once the disk works again`
    refusal = new TriviumError('store_unavailable', { store: address, reason }, { cause: error })
    for (const one of [...lost, ...waiting.splice(0)]) one.reject(refusal)
  }

  return {
    /** Runs `work` durably in this turn's transaction. An error undoes only this call. */
    write: <T>(work: () => T) => enter(work, 'flush'),
    /**
     * For work that can be repeated. A transaction with only such calls is not flushed: until the
     * next `write`, a power failure may undo it. Without `isUrgent` it waits for the current flush,
     * to share the next transaction.
     */
    writeRepeatable: <T>(work: () => T, { isUrgent = true } = {}) => enter(work, isUrgent ? 'soon' : 'later'),
    /** Runs `work`, which may use another connection, while no transaction is open here. */
    hold: others.run,
    follow: transactions.follow,
    /** Commits and flushes pending calls, and refuses later ones. */
    close: async () => {
      await others.ended()
      if (refusal) return
      commitWaiting()
      refusal = new TriviumError('store_unavailable', { store: address, reason: 'it is closed' })
      await flushes.finish()
    },
  }
}
