import { RESULT_TTL, UNUSED_TTL } from '../../core/lifetimes.ts'
import type { Retention, Trimmed } from '../../core/retention.ts'
import { groupAge } from '../shared/values.ts'
import type { Parts } from './parts.ts'
import { createRemoval } from './removal.ts'
import { createMessageTrim } from './trim-messages.ts'
import { createTopicTrim } from './trim-topics.ts'

/** Maximum rows of a kind removed per transaction, to keep turns of the event loop short. */
const SLICE = 500

type Numbered = { id: number }

/**
 * Removes messages and events beyond retention, and then expired data, unused groups, and excess
 * dead letters.
 */
export function createTrim(parts: Parts): (policy: Retention) => Promise<Trimmed> {
  const { sql, writer, counters, keys, now } = parts
  const removal = createRemoval(parts)
  const overdueMessages = createMessageTrim(parts)
  const trimTopics = createTopicTrim(parts, removal)

  function trimJournal(policy: Retention): Trimmed {
    parts.followClock()
    const messages = removal.messages(overdueMessages(policy, SLICE), true)
    if (messages >= SLICE) return { removed: messages, more: true }
    const events = trimTopics(policy, SLICE - messages)
    return { removed: messages + events.removed, more: events.more }
  }

  function clearAway(policy: Retention): Trimmed {
    removeUnusedGroups(now() - groupAge(policy))
    const expiredKeys = keys.sweep(now())
    const removed = [
      ...sql.all<Numbered>`SELECT id FROM queue`.map(({ id }) =>
        removeExcessDeadLetters(id, policy.deadLetters ?? 5_000),
      ),
      sql.run`DELETE FROM kv WHERE key IN (SELECT key FROM kv WHERE expires <= ${now()} LIMIT ${SLICE} + 0)`,
      sql.run`DELETE FROM done WHERE (queue, id) IN
        (SELECT queue, id FROM done WHERE at <= ${now() - RESULT_TTL} LIMIT ${SLICE} + 0)`,
      sql.run`DELETE FROM topic WHERE id IN (SELECT id FROM topic t WHERE emptied <= ${now() - UNUSED_TTL}
        AND NOT EXISTS (SELECT 1 FROM consumer WHERE topic = t.id) LIMIT ${SLICE} + 0)`,
    ]
    return {
      removed: removed.reduce((sum, each) => sum + each, expiredKeys.removed),
      more: expiredKeys.more || removed.some((each) => each >= SLICE),
    }
  }

  function removeUnusedGroups(usedBefore: number): void {
    const unused = sql.all<Numbered>`DELETE FROM consumer WHERE used < ${usedBefore} RETURNING id`
    for (const { id } of unused) {
      sql.run`DELETE FROM pending WHERE consumer = ${id}`
      sql.run`DELETE FROM redelivered WHERE consumer = ${id}`
    }
  }

  function removeExcessDeadLetters(queue: number, max: number): number {
    const excess = Math.min(SLICE, counters.get(`dead ${queue}`) - max)
    if (excess <= 0) return 0
    const removed = sql.run`DELETE FROM dead WHERE n IN
      (SELECT n FROM dead WHERE queue = ${queue} ORDER BY n LIMIT ${excess} + 0)`
    counters.add(`dead ${queue}`, -removed)
    return removed
  }

  return async (policy) => {
    const journal = await writer.write(() => trimJournal(policy))
    if (journal.more) return journal
    const rest = await writer.write(() => clearAway(policy))
    return { removed: journal.removed + rest.removed, more: rest.more }
  }
}
