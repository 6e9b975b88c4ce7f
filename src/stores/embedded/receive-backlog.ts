import { timeOf } from '../../core/message-id.ts'
import type { Backlog } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import { MAX_BACKLOG } from '../shared/values.ts'
import type { Parts } from './parts.ts'

/** Maximum number of messages after the cursor that are looked at: most may be taken already. */
const MAX_SEEN = 2 * MAX_BACKLOG

/** Counts the ready messages of a gateway: see `createReady`. Only inside a read. */
export function backlogOf({ sql, gateways, ready }: Parts, name: string): Backlog {
  const gateway = gateways.find(name)
  if (gateway === undefined) return { messages: 0, more: false }
  const fresh = sql.get<{ n: number }>`SELECT count(*) AS n FROM (SELECT 1 FROM (
      SELECT j.seq, j.id, j.conversation FROM journal j CROSS JOIN gateway g ON g.id = j.gateway
      WHERE j.gateway = ${gateway} AND j.seq > g.taken ORDER BY j.seq LIMIT ${MAX_SEEN}) j
    WHERE NOT EXISTS (SELECT 1 FROM conversation_taken c
        WHERE c.gateway = ${gateway} AND c.conversation = coalesce(j.conversation, j.id) AND c.seq >= j.seq)
      AND NOT EXISTS (SELECT 1 FROM taken_ahead a WHERE a.gateway = ${gateway} AND a.seq = j.seq)
    LIMIT ${MAX_BACKLOG} + 1)`
  const unseen = sql.get`SELECT 1 FROM journal j CROSS JOIN gateway g ON g.id = j.gateway
    WHERE j.gateway = ${gateway} AND j.seq > g.taken ORDER BY j.seq LIMIT 1 OFFSET ${MAX_SEEN}`
  const back = sql.get<{ n: number }>`SELECT count(*) AS n FROM receive WHERE gateway = ${gateway}`
  const all = (fresh?.n ?? 0) + (back?.n ?? 0)
  const seq = ready.oldest(gateway)?.seq ?? 0
  const oldest = sql.get<{ id: string }>`SELECT id FROM journal WHERE seq = ${seq}`
  return {
    messages: Math.min(all, MAX_BACKLOG),
    more: all > MAX_BACKLOG || unseen !== undefined,
    ...defined({ oldestAt: oldest && timeOf(oldest.id) }),
  }
}
