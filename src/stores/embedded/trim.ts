import { makeId, timeOf } from '../../core/message-id.ts'
import type { Retention } from '../../core/store.ts'
import { groupAge, ownOf, WEEK } from '../shared/values.ts'
import type { Parts } from './parts.ts'
import { int, maybeInt, type Row, text } from './sql.ts'
import { MESSAGES, tableOf } from './topic-log.ts'

/** Rows that one transaction removes at most, so that no turn of the event loop takes long. */
const SLICE = 500
const TOPICS = 500

/** What may go: seen by the pump, needed by no job. */
const FREE =
  'seq <= ? AND NOT EXISTS (SELECT 1 FROM job WHERE job.message = journal.seq) ORDER BY seq LIMIT ? + 0'
const OLDEST = `SELECT seq FROM journal WHERE ${FREE}`
/** The newest message of a gateway that is one too many. */
const EXCESS = 'SELECT seq FROM journal WHERE gateway = ? ORDER BY seq DESC LIMIT 1 OFFSET ? + 0'
const OLDEST_OF_GATEWAY = `SELECT seq, id FROM journal WHERE gateway = ? AND ${FREE}`

/**
 * Removes what retention no longer covers, in slices. Also clears away expired keys, values and results,
 * which reads already treat as gone, unused groups and the oldest of too many dead letters.
 */
export function createTrim(parts: Parts): (policy: Retention) => Promise<{ removed: number }> {
  const { sql, writer, counters, keys, now } = parts
  let nextTopic = 0

  /** One transaction's worth. */
  function slice(policy: Retention): number {
    const removed = removeMessages(tooManyOrOld(policy))
    return removed + (removed < SLICE ? trimTopics(policy, SLICE - removed) : 0)
  }

  /** Of all the oldest, where there are too many; else of single gateways. */
  function tooManyOrOld({ journal, gateways = {} }: Retention): number[] {
    const pump = counters.get('pump')
    const excess = counters.get('messages') - journal.maxCount
    const oldest = excess > 0 ? sql(OLDEST).all(pump, Math.min(SLICE, excess)) : []
    if (oldest.length > 0) return oldest.map((row) => int(row.seq))
    const gone: number[] = []
    for (const row of sql('SELECT id, name FROM gateway').all()) {
      const { maxAge = journal.maxAge, maxCount } = ownOf(gateways, text(row.name)) ?? {}
      const cutoff = now() - maxAge
      const excess = maxCount === undefined ? undefined : sql(EXCESS).get(int(row.id), maxCount)
      const tooMany = maybeInt(excess?.seq) ?? 0
      for (const { seq, id } of sql(OLDEST_OF_GATEWAY).all(int(row.id), pump, SLICE - gone.length))
        if (int(seq) <= tooMany || timeOf(text(id)) < cutoff) gone.push(int(seq))
    }
    return gone
  }

  function removeMessages(seqs: readonly number[]): number {
    if (seqs.length === 0) return 0
    for (const seq of seqs) {
      const row = sql('DELETE FROM journal WHERE seq = ? RETURNING gateway, id').get(seq)
      const gateway = int(row?.gateway)
      sql('DELETE FROM note WHERE seq = ?').run(seq)
      const ready = sql('DELETE FROM receive WHERE gateway = ? AND seq = ?').run(gateway, seq).changes
      counters.add('ready', -Number(ready))
      const untaken = Number(ready) + Number(sql('DELETE FROM leased WHERE seq = ?').run(seq).changes)
      const isTakenFrom = timeOf(text(row?.id)) - counters.get(`taken ${gateway}`) < WEEK
      if (untaken > 0 && isTakenFrom) counters.add(`lost ${gateway}`, 1)
    }
    counters.add('messages', -seqs.length)
    losePending(MESSAGES, Math.max(...seqs))
    return seqs.length
  }

  function trimTopics(policy: Retention, max: number): number {
    let removed = 0
    const topics =
      sql(`SELECT id, name, last FROM topic WHERE id > ? AND EXISTS (SELECT 1 FROM event WHERE event.topic = topic.id)
      ORDER BY id LIMIT ? + 0`).all(nextTopic, TOPICS)
    for (const row of topics) {
      removed += trimTopic(policy, row, max - removed)
      if (removed >= max) return removed
      nextTopic = int(row.id)
    }
    if (topics.length < TOPICS) nextTopic = 0
    return removed
  }

  function trimTopic({ topics = {}, journal }: Retention, row: Row, max: number): number {
    const id = int(row.id)
    const { maxAge = journal.maxAge, maxCount = journal.maxCount } = ownOf(topics, text(row.name)) ?? {}
    // Ids sort by time.
    const oldest = sql(`SELECT max(position) AS end FROM
        (SELECT position, id FROM event WHERE topic = ? ORDER BY position LIMIT ? + 0)
      WHERE position <= ? OR id < ?`).get(id, max, int(row.last) - maxCount, makeId(now() - maxAge, 0, 0))
    const end = maybeInt(oldest?.end)
    if (end === undefined) return 0
    const removed = Number(sql('DELETE FROM event WHERE topic = ? AND position <= ?').run(id, end).changes)
    losePending(id, end)
    return removed
  }

  /** What groups were shown but had not consumed is gone as well; they learn how many. */
  function losePending(topic: number, to: number): void {
    const lose = sql(`DELETE FROM pending WHERE consumer = ?1 AND position <= ?2 AND NOT EXISTS
      (SELECT 1 FROM ${tableOf(topic)} e WHERE e.topic = ?3 AND e.position = pending.position)`)
    for (const { id } of sql('SELECT id FROM consumer WHERE topic = ?').all(topic)) {
      const { changes } = lose.run(int(id), to, topic)
      if (changes > 0) sql('UPDATE consumer SET missed = missed + ? WHERE id = ?').run(changes, int(id))
    }
  }

  function clearAway(policy: Retention): void {
    keys.sweep(now())
    const unused = sql('DELETE FROM consumer WHERE used < ? RETURNING id').all(now() - groupAge(policy))
    for (const { id } of unused) sql('DELETE FROM pending WHERE consumer = ?').run(int(id))
    for (const { id } of sql('SELECT id FROM queue').all()) {
      const excess = Math.min(SLICE, counters.get(`dead ${id}`) - (policy.deadLetters ?? 5_000))
      const oldest = 'DELETE FROM dead WHERE n IN (SELECT n FROM dead WHERE queue = ? ORDER BY n LIMIT ? + 0)'
      if (excess > 0) counters.add(`dead ${id}`, -Number(sql(oldest).run(int(id), excess).changes))
    }
    sql('DELETE FROM kv WHERE key IN (SELECT key FROM kv WHERE expires <= ? LIMIT ? + 0)').run(now(), SLICE)
    sql(`DELETE FROM done WHERE (queue, id) IN (SELECT queue, id FROM done WHERE at <= ? LIMIT ? + 0)`).run(
      now() - WEEK,
      SLICE,
    )
  }

  return async (policy) => {
    const removed = await writer.write(() => {
      parts.followClock()
      return slice(policy)
    })
    if (removed === 0) await writer.write(() => clearAway(policy))
    return { removed }
  }
}
