import { makeId, timeOf } from '../../core/message-id.ts'
import type { Retention, Trimmed } from '../../core/retention.ts'
import { ownOf } from '../shared/values.ts'
import type { Parts } from './parts.ts'
import type { Removal } from './removal.ts'
import type { TopicRow } from './topic-log.ts'

/** Maximum number of topics of each kind per transaction. */
const TOPICS = 500

type TopicAge = TopicRow & { oldest: number | null }

/** Makes a function that removes up to `max` events beyond retention. Only inside a transaction. */
export function createTopicTrim({ sql, now }: Parts, removal: Removal) {
  let nextTopic = 0

  function trimTopic(policy: Retention, { id, name, last, oldest }: TopicAge, max: number): number {
    const { topics = {}, journal } = policy
    const { maxAge = journal.maxAge, maxCount = journal.maxCount } = ownOf(topics, name) ?? {}
    // Ids sort by time.
    const { end } = sql.get<{ end: number | null }>`SELECT max(position) AS end FROM
        (SELECT position, id FROM event WHERE topic = ${id} ORDER BY position LIMIT ${max} + 0)
      WHERE position <= ${last - maxCount} OR id < ${makeId(now() - maxAge, 0, 0)}` ?? { end: null }
    const removed = sql.run`DELETE FROM event WHERE topic = ${id} AND position <= ${end ?? 0}`
    if (removed > 0) {
      removal.dropPending(id, end ?? 0)
      removal.forgetErased(id)
    }
    if (removed === 0 && oldest !== 0) return 0
    const first = sql.get<{ id: string }>`SELECT id FROM event WHERE topic = ${id} ORDER BY position LIMIT 1`
    sql.run`UPDATE topic SET oldest = ${first ? timeOf(first.id) : null}, emptied = ${first ? null : now()} WHERE id = ${id}`
    return removed
  }

  /**
   * Trims topics with a policy of their own, topics with old events, and a part of the others,
   * which may have too many.
   */
  return (policy: Retention, max: number): Trimmed => {
    const { topics = {}, journal } = policy
    const names = JSON.stringify(Object.keys(topics))
    const own = sql.all<TopicAge>`SELECT id, name, last, oldest FROM topic WHERE name IN (SELECT value FROM json_each(${names}))`
    const old = sql.all<TopicAge>`SELECT id, name, last, oldest FROM topic
      WHERE oldest < ${now() - journal.maxAge} AND name NOT IN (SELECT value FROM json_each(${names}))
      ORDER BY oldest LIMIT ${TOPICS} + 0`
    const part = sql.all<TopicAge>`SELECT id, name, last, oldest FROM topic
      WHERE id > ${nextTopic} AND oldest IS NOT NULL ORDER BY id LIMIT ${TOPICS} + 0`
    let removed = 0
    for (const topic of [...own, ...old, ...part]) {
      removed += trimTopic(policy, topic, max - removed)
      if (removed >= max) return { removed, more: true }
    }
    nextTopic = part.length < TOPICS ? 0 : (part.at(-1)?.id ?? 0)
    // The next topics are likely to have a few too many, too.
    return { removed, more: removed > 0 && nextTopic > 0 }
  }
}
