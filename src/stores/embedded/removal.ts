import { timeOf } from '../../core/message-id.ts'
import { WEEK } from '../shared/values.ts'
import type { Parts } from './parts.ts'
import { MESSAGES } from './topic-log.ts'

type Removed = { gateway: number; id: string; conversation: string | null }
type Numbered = { id: number }

export type Removal = ReturnType<typeof createRemoval>

/** Removes messages and what follows from that. Inside a transaction only. */
export function createRemoval({ sql, counters, ready }: Parts) {
  /** What groups were shown but had not consumed is gone as well; they learn how many. */
  function losePending(topic: number, to: number): void {
    for (const { id } of sql.all<Numbered>`SELECT id FROM consumer WHERE topic = ${topic}`) {
      const lost = sql.run`DELETE FROM pending WHERE consumer = ${id} AND position <= ${to} AND NOT EXISTS
        (SELECT 1 FROM place WHERE topic = ${topic} AND place.position = pending.position)`
      if (lost > 0) sql.run`UPDATE consumer SET missed = missed + ${lost} WHERE id = ${id}`
    }
  }

  return {
    losePending,
    /** Messages that are there. `areLost`: who takes learns how many went untaken. */
    messages(seqs: readonly number[], areLost: boolean): number {
      if (seqs.length === 0) return 0
      const gateways = new Set<number>()
      for (const seq of seqs) {
        const row = sql.get<Removed>`DELETE FROM journal WHERE seq = ${seq} RETURNING gateway, id, conversation`
        if (!row) continue
        const { gateway, id } = row
        gateways.add(gateway)
        sql.run`DELETE FROM note WHERE seq = ${seq}`
        const wasReady = ready.forget({ gateway, seq }, row)
        if (wasReady) counters.add('ready', -1)
        const wasLeased = sql.run`DELETE FROM leased WHERE seq = ${seq}` > 0
        const isTakenFrom = timeOf(id) - counters.get(`taken ${gateway}`) < WEEK
        if (areLost && (wasReady || wasLeased) && isTakenFrom) counters.add(`lost ${gateway}`, 1)
      }
      ready.skipRemoved(gateways)
      counters.add('messages', -seqs.length)
      losePending(MESSAGES, Math.max(...seqs))
      return seqs.length
    },
  }
}
