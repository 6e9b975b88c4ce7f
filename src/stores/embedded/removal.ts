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

  /** Remembers erased events, which counts of unread ones leave out. */
  function noteErased(topic: number, positions: readonly number[]): void {
    const list = JSON.stringify(positions)
    sql.run`INSERT OR IGNORE INTO erased (topic, position) SELECT ${topic}, value FROM json_each(${list})`
  }

  /** Forgets erased events before the oldest event of the topic. */
  function forgetErased(topic: number): void {
    sql.run`DELETE FROM erased WHERE topic = ${topic} AND position < coalesce(
      (SELECT position FROM place WHERE topic = ${topic} ORDER BY position LIMIT 1), ${Number.MAX_SAFE_INTEGER})`
  }

  return {
    dropPending,
    noteErased,
    forgetErased,
    /**
     * Removes existing messages. `areLost`: retention removes them; counts unread ones, and reports
     * their number to the next consumer.
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
      if (!areLost) noteErased(MESSAGES, seqs)
      forgetErased(MESSAGES)
      return seqs.length
    },
  }
}
