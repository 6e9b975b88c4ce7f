import { WORKERS_TTL } from '../../core/lifetimes.ts'
import { timeOf } from '../../core/message-id.ts'
import type { Parts } from './parts.ts'
import { MESSAGES } from './topic-log.ts'

type Removed = { gateway: number; id: string; conversation: string | null }
type Numbered = { id: number }

export type Removal = ReturnType<typeof createRemoval>

/**
 * Removes messages, with their history and their places on the roads. Inside a transaction only.
 */
export function createRemoval({ sql, counters, ready }: Parts) {
  /**
   * Removes pending events that no longer exist, up to a position, and adds them to the missed ones
   * of their groups.
   */
  function dropPending(topic: number, to: number): void {
    for (const { id } of sql.all<Numbered>`SELECT id FROM consumer WHERE topic = ${topic}`) {
      const lost = sql.run`DELETE FROM pending WHERE consumer = ${id} AND position <= ${to} AND NOT EXISTS
        (SELECT 1 FROM place WHERE topic = ${topic} AND place.position = pending.position)`
      sql.run`DELETE FROM redelivered WHERE consumer = ${id} AND position <= ${to} AND NOT EXISTS
        (SELECT 1 FROM place WHERE topic = ${topic} AND place.position = redelivered.position)`
      if (lost > 0) sql.run`UPDATE consumer SET missed = missed + ${lost} WHERE id = ${id}`
    }
  }

  return {
    dropPending,
    /**
     * Removes existing messages. `areLost`: counts unread ones, and reports their number to the
     * next consumer.
     */
    messages(seqs: readonly number[], areLost: boolean): number {
      if (seqs.length === 0) return 0
      const gateways = new Set<number>()
      let last = 0
      for (const seq of seqs) {
        last = Math.max(last, seq)
        const row = sql.get<Removed>`DELETE FROM journal WHERE seq = ${seq} RETURNING gateway, id, conversation`
        if (!row) continue
        const { gateway, id } = row
        gateways.add(gateway)
        sql.run`DELETE FROM note WHERE seq = ${seq}`
        const wasReady = ready.forget({ gateway, seq }, row)
        if (wasReady) counters.add('ready', -1)
        const wasLeased = sql.run`DELETE FROM leased WHERE seq = ${seq}` > 0
        const hasWorkers = timeOf(id) - counters.get(`taken ${gateway}`) < WORKERS_TTL
        if (areLost && (wasReady || wasLeased) && hasWorkers) counters.add(`lost ${gateway}`, 1)
      }
      ready.skipRemoved(gateways)
      counters.add('messages', -seqs.length)
      dropPending(MESSAGES, last)
      return seqs.length
    },
  }
}
