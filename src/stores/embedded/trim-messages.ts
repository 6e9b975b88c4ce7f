import { timeOf } from '../../core/message-id.ts'
import type { Retention } from '../../core/retention.ts'
import { ownOf } from '../shared/values.ts'
import type { Parts } from './parts.ts'

type Message = { seq: number; id: string }
type Gateway = { id: number; name: string }

/**
 * Makes a function that finds the numbers of up to `max` messages beyond retention which no job
 * needs.
 */
export function createMessageTrim({ sql, counters, now }: Parts) {
  /** Jobs need all messages up to this position; 0 unless there are too many messages. */
  let needed = 0

  /** If there are too many messages overall, the oldest that no job needs. */
  function tooMany(maxCount: number, pump: number, max: number): number[] {
    const excess = counters.get('messages') - maxCount
    const oldest =
      excess > 0
        ? sql.all<Message>`SELECT seq FROM free_message WHERE seq > ${needed} AND seq <= ${pump}
            ORDER BY seq LIMIT ${Math.min(max, excess)} + 0`
        : []
    needed = oldest.at(-1)?.seq ?? 0
    return oldest.map(({ seq }) => seq)
  }

  /** The messages of a gateway that are too old or too many. */
  function beyond({ id: gateway, name }: Gateway, policy: Retention, pump: number, max: number): number[] {
    const { journal, gateways = {} } = policy
    const { maxAge = journal.maxAge, maxCount } = ownOf(gateways, name) ?? {}
    const cutoff = now() - maxAge
    // The newest message beyond the limit.
    const excess =
      maxCount !== undefined &&
      sql.get<Message>`SELECT seq FROM journal WHERE gateway = ${gateway}
        ORDER BY seq DESC LIMIT 1 OFFSET ${maxCount} + 0`
    const first = sql.get<Message>`SELECT seq, id FROM journal WHERE gateway = ${gateway} ORDER BY seq LIMIT 1`
    // Searching for messages without jobs is slow if most have one.
    if (!excess && !(first && timeOf(first.id) < cutoff)) return []
    const free = sql.all<Message>`SELECT seq, id FROM free_message WHERE gateway = ${gateway} AND seq <= ${pump}
      ORDER BY seq LIMIT ${max} + 0`
    return free.flatMap(({ seq, id }) => ((excess && seq <= excess.seq) || timeOf(id) < cutoff ? seq : []))
  }

  return (policy: Retention, max: number): number[] => {
    const pump = counters.get('pump')
    const overdue = new Set(tooMany(policy.journal.maxCount, pump, max))
    for (const gateway of sql.all<Gateway>`SELECT id, name FROM gateway`) {
      if (overdue.size >= max) break
      // Some of them may be in the set already.
      for (const seq of beyond(gateway, policy, pump, max)) overdue.add(seq)
    }
    return [...overdue].slice(0, max)
  }
}
