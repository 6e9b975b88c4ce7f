import { makeId, timeOf } from '../../core/message-id.ts'
import type { Retention } from '../../core/store.ts'
import { groupAge, ownOf, WEEK } from '../shared/values.ts'
import type { Parts } from './parts.ts'
import { createRemoval } from './removal.ts'
import type { TopicRow } from './topic-log.ts'

/** Maximum rows removed per transaction, to keep turns of the event loop short. */
const SLICE = 500
const TOPICS = 500

type Message = { seq: number; id: string }
type Named = { id: number; name: string }
type TopicAge = TopicRow & { oldest: number | null }

/** Removes in slices: messages and events beyond retention, expired data, unused groups, and excess dead letters. */
export function createTrim(parts: Parts): (policy: Retention) => Promise<{ removed: number }> {
  const { sql, writer, counters, keys, now } = parts
  const removal = createRemoval(parts)
  let nextTopic = 0
  /** While there are too many messages: jobs need the remaining ones up to here. */
  let needed = 0

  /** The oldest messages overall if there are too many; else those of single gateways. */
  function tooManyOrOld({ journal, gateways = {} }: Retention): number[] {
    const pump = counters.get('pump')
    const excess = counters.get('messages') - journal.maxCount
    const oldest =
      excess > 0
        ? sql.all<Message>`SELECT seq FROM free_message WHERE seq > ${needed} AND seq <= ${pump}
            ORDER BY seq LIMIT ${Math.min(SLICE, excess)} + 0`
        : []
    needed = oldest.at(-1)?.seq ?? 0
    if (oldest.length > 0) return oldest.map(({ seq }) => seq)
    const gone: number[] = []
    for (const gateway of sql.all<Named>`SELECT id, name FROM gateway`) {
      const { maxAge = journal.maxAge, maxCount } = ownOf(gateways, gateway.name) ?? {}
      const cutoff = now() - maxAge
      // The newest message beyond the limit.
      const tooMany =
        maxCount !== undefined &&
        sql.get<Message>`SELECT seq FROM journal WHERE gateway = ${gateway.id}
          ORDER BY seq DESC LIMIT 1 OFFSET ${maxCount} + 0`
      const first = sql.get<Message>`SELECT seq, id FROM journal WHERE gateway = ${gateway.id} ORDER BY seq LIMIT 1`
      // Searching for messages without jobs is slow if most have one.
      if (!tooMany && !(first && timeOf(first.id) < cutoff)) continue
      const free = sql.all<Message>`SELECT seq, id FROM free_message WHERE gateway = ${gateway.id} AND seq <= ${pump}
        ORDER BY seq LIMIT ${SLICE - gone.length} + 0`
      for (const { seq, id } of free)
        if ((tooMany && seq <= tooMany.seq) || timeOf(id) < cutoff) gone.push(seq)
    }
    return gone
  }

  /** Topics with their own policy, topics with old events, and a part of the others, which may have too many. */
  function trimTopics(policy: Retention, max: number): number {
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
      if (removed >= max) return removed
    }
    nextTopic = part.length < TOPICS ? 0 : (part.at(-1)?.id ?? 0)
    return removed
  }

  function trimTopic(policy: Retention, { id, name, last, oldest }: TopicAge, max: number): number {
    const { topics = {}, journal } = policy
    const { maxAge = journal.maxAge, maxCount = journal.maxCount } = ownOf(topics, name) ?? {}
    // Ids sort by time.
    const { end } = sql.get<{ end: number | null }>`SELECT max(position) AS end FROM
        (SELECT position, id FROM event WHERE topic = ${id} ORDER BY position LIMIT ${max} + 0)
      WHERE position <= ${last - maxCount} OR id < ${makeId(now() - maxAge, 0, 0)}` ?? { end: null }
    const removed = sql.run`DELETE FROM event WHERE topic = ${id} AND position <= ${end ?? 0}`
    if (removed > 0) removal.losePending(id, end ?? 0)
    if (removed === 0 && oldest !== 0) return 0
    const first = sql.get<{ id: string }>`SELECT id FROM event WHERE topic = ${id} ORDER BY position LIMIT 1`
    sql.run`UPDATE topic SET oldest = ${first ? timeOf(first.id) : null}, emptied = ${first ? null : now()} WHERE id = ${id}`
    return removed
  }

  /** Returns the number of removed rows, if there may be more. */
  function clearAway(policy: Retention): number {
    let removed = keys.sweep(now())
    const unused = sql.all<Named>`DELETE FROM consumer WHERE used < ${now() - groupAge(policy)} RETURNING id`
    for (const { id } of unused) sql.run`DELETE FROM pending WHERE consumer = ${id}`
    for (const { id } of sql.all<Named>`SELECT id FROM queue`) {
      const excess = Math.min(SLICE, counters.get(`dead ${id}`) - (policy.deadLetters ?? 5_000))
      if (excess <= 0) continue
      const dropped = sql.run`DELETE FROM dead WHERE n IN
        (SELECT n FROM dead WHERE queue = ${id} ORDER BY n LIMIT ${excess} + 0)`
      counters.add(`dead ${id}`, -dropped)
      removed += dropped
    }
    removed += sql.run`DELETE FROM kv WHERE key IN (SELECT key FROM kv WHERE expires <= ${now()} LIMIT ${SLICE} + 0)`
    removed += sql.run`DELETE FROM done WHERE (queue, id) IN
      (SELECT queue, id FROM done WHERE at <= ${now() - WEEK} LIMIT ${SLICE} + 0)`
    removed += sql.run`DELETE FROM topic WHERE id IN (SELECT id FROM topic t WHERE emptied <= ${now() - WEEK}
      AND NOT EXISTS (SELECT 1 FROM consumer WHERE topic = t.id) LIMIT ${SLICE} + 0)`
    return removed
  }

  return async (policy) => {
    const removed = await writer.write(() => {
      parts.followClock()
      const messages = removal.messages(tooManyOrOld(policy), true)
      return messages + (messages < SLICE ? trimTopics(policy, SLICE - messages) : 0)
    })
    return { removed: removed > 0 ? removed : await writer.write(() => clearAway(policy)) }
  }
}
