import type { DatabaseSync } from 'node:sqlite'
import { rollBack } from '../../lib/roll-back.ts'
import { isEnvironmental, toStoreError } from './store-error.ts'

/** In-memory state that mirrors the database and must follow commits and rollbacks. */
export type Follower = {
  /** Called inside the transaction, after the last call, as the last chance to write. */
  beforeCommit?(): void
  /**
   * `whenSettled` registers work for when the calls of this transaction settle: after the flush, if
   * any.
   */
  committed?(whenSettled: (work: () => void) => void): void
  rolledBack?(): void
}

/** Part of a transaction. `reject` gets the error if this part was undone. */
export type Work = { run(): void; reject(error: unknown): void }

/**
 * Runs pieces of work together, each or all of them in one transaction. `address`: the store in
 * errors.
 */
export function createTransactions(db: DatabaseSync, address: string) {
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const followers: Follower[] = []

  /** Runs the pieces in one transaction. Returns the refused ones: the one that failed, or all. */
  function attempt<Piece extends Work>(pieces: readonly Piece[]): Set<Piece> {
    let current: Piece | undefined
    try {
      // A transaction is left over if its rollback failed.
      if (db.isTransaction) db.exec('ROLLBACK')
      begin.run()
      for (current of pieces) current.run()
      current = undefined
      for (const follower of followers) follower.beforeCommit?.()
      commit.run()
      return new Set()
    } catch (error) {
      rollBack(db)
      for (const follower of followers) follower.rolledBack?.()
      const refused = new Set(current && !isEnvironmental(error) ? [current] : pieces)
      for (const piece of refused) piece.reject(toStoreError(address, error))
      return refused
    }
  }

  return {
    follow: (follower: Follower) => void followers.push(follower),
    /**
     * Commits all pieces except those that fail, which are rejected. Returns the committed ones.
     */
    commit<Piece extends Work>(pieces: readonly Piece[]): readonly Piece[] {
      let left = pieces
      while (left.length > 0) {
        const refused = attempt(left)
        if (refused.size === 0) return left
        left = left.filter((piece) => !refused.has(piece))
      }
      return left
    },
    /** After a commit: lets the followers register work for when its pieces settle. */
    committed(whenSettled: (work: () => void) => void): void {
      for (const follower of followers) follower.committed?.(whenSettled)
    },
  }
}
