import { RESULT_TTL, UNUSED_TTL } from '../../core/lifetimes.ts'
import type { Retention } from '../../core/store.ts'
import { groupAge } from '../shared/values.ts'
import type { Parts } from './parts.ts'
import { createRemoval } from './removal.ts'
import { createMessageTrim } from './trim-messages.ts'
import { createTopicTrim } from './trim-topics.ts'

/** Maximum rows removed per transaction, to keep turns of the event loop short. */
const SLICE = 500

type Numbered = { id: number }

/** Removes in slices: messages and events beyond retention, expired data, unused groups, and excess dead letters. */
export function createTrim(parts: Parts): (policy: Retention) => Promise<{ removed: number }> {
  const { sql, writer, counters, keys, now } = parts
  const removal = createRemoval(parts)
  const overdueMessages = createMessageTrim(parts)
  const trimTopics = createTopicTrim(parts, removal)

  /** Returns the number of removed rows, if there may be more. */
  function clearAway(policy: Retention): number {
    let removed = keys.sweep(now())
    const unused = sql.all<Numbered>`DELETE FROM consumer WHERE used < ${now() - groupAge(policy)} RETURNING id`
    for (const { id } of unused) {
      sql.run`DELETE FROM pending WHERE consumer = ${id}`
      sql.run`DELETE FROM redelivered WHERE consumer = ${id}`
    }
    for (const { id } of sql.all<Numbered>`SELECT id FROM queue`) {
      const excess = Math.min(SLICE, counters.get(`dead ${id}`) - (policy.deadLetters ?? 5_000))
      if (excess <= 0) continue
      const dropped = sql.run`DELETE FROM dead WHERE n IN
        (SELECT n FROM dead WHERE queue = ${id} ORDER BY n LIMIT ${excess} + 0)`
      counters.add(`dead ${id}`, -dropped)
      removed += dropped
    }
    removed += sql.run`DELETE FROM kv WHERE key IN (SELECT key FROM kv WHERE expires <= ${now()} LIMIT ${SLICE} + 0)`
    removed += sql.run`DELETE FROM done WHERE (queue, id) IN
      (SELECT queue, id FROM done WHERE at <= ${now() - RESULT_TTL} LIMIT ${SLICE} + 0)`
    removed += sql.run`DELETE FROM topic WHERE id IN (SELECT id FROM topic t WHERE emptied <= ${now() - UNUSED_TTL}
      AND NOT EXISTS (SELECT 1 FROM consumer WHERE topic = t.id) LIMIT ${SLICE} + 0)`
    return removed
  }

  return async (policy) => {
    const removed = await writer.write(() => {
      parts.followClock()
      const messages = removal.messages(overdueMessages(policy, SLICE), true)
      return messages + (messages < SLICE ? trimTopics(policy, SLICE - messages) : 0)
    })
    return { removed: removed > 0 ? removed : await writer.write(() => clearAway(policy)) }
  }
}
