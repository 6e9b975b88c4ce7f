import { timeOf } from '../../core/message-id.ts'
import type { Retention } from '../../core/store.ts'
import { ownOf } from '../shared/values.ts'
import type { Parts } from './parts.ts'
import { KEY_AGE } from './remembered-keys.ts'
import { int, prepareAll, type Row, text } from './sql.ts'
import { MESSAGES } from './topic-log.ts'

/** Rows that one transaction removes at most, so that no turn of the event loop takes long. */
const SLICE = 500
/** Transactions in one call. */
const SLICES = 4
const TOPICS = 500

/**
 * Removes what retention no longer covers, in slices. Also clears away expired keys, values and results,
 * which reads already treat as gone.
 */
export function createTrim(parts: Parts): (policy: Retention) => Promise<{ removed: number }> {
  const { db, writer, counters, keys, now } = parts
  const sql = prepareAll(db, 'trim.sql')
  let nextTopic = 0

  /** One transaction's worth. */
  function slice(policy: Retention): number {
    const removed = removeMessages(tooMany(policy)) || removeMessages(tooOld(policy))
    return removed + (removed < SLICE ? trimTopics(policy, SLICE - removed) : 0)
  }

  function tooMany({ journal }: Retention): number[] {
    const excess = Math.min(SLICE, counters.get('messages') - journal.maxCount)
    const rows = excess > 0 ? sql('oldest').all(counters.get('pump'), excess) : []
    return rows.map((row) => int(row.seq))
  }

  function tooOld({ journal, gateways = {} }: Retention): number[] {
    const old: number[] = []
    for (const row of sql('gateways').all()) {
      const cutoff = now() - (ownOf(gateways, text(row.name)) ?? journal).maxAge
      const oldest = sql('oldestOfGateway').all(int(row.id), counters.get('pump'), SLICE - old.length)
      for (const each of oldest) if (timeOf(text(each.id)) < cutoff) old.push(int(each.seq))
      if (old.length >= SLICE) break
    }
    return old
  }

  function removeMessages(seqs: readonly number[]): number {
    if (seqs.length === 0) return 0
    for (const seq of seqs) {
      const gateway = int(sql('removeMessage').get(seq)?.gateway)
      sql('removeNotes').run(seq)
      const ready = sql('removeReady').run(gateway, seq).changes > 0
      if (ready) counters.add('ready', -1)
      else sql('removeLeased').run(seq)
    }
    counters.add('messages', -seqs.length)
    losePending(MESSAGES, Math.min(...seqs), Math.max(...seqs))
    return seqs.length
  }

  function trimTopics(policy: Retention, max: number): number {
    let removed = 0
    const topics = sql('topics').all(nextTopic, TOPICS)
    nextTopic = topics.length < TOPICS ? 0 : nextTopic
    for (const row of topics) {
      removed += trimTopic(policy, row, max - removed)
      if (removed >= max) return removed
      if (topics.length === TOPICS) nextTopic = int(row.id)
    }
    return removed
  }

  function trimTopic({ topics = {}, journal }: Retention, row: Row, max: number): number {
    const [id, first] = [int(row.id), int(row.first)]
    const { maxAge = journal.maxAge, maxCount = journal.maxCount } = ownOf(topics, text(row.name)) ?? {}
    const keepFrom = int(row.last) - maxCount + 1
    let end = first - 1
    for (const each of sql('events').all(id, max)) {
      const position = int(each.position)
      if (position >= keepFrom && timeOf(text(each.id)) >= now() - maxAge) break
      end = position
    }
    if (end < first) return 0
    const removed = Number(sql('removeEvents').run(id, end).changes)
    losePending(id, first, end)
    return removed
  }

  /** What groups were shown but had not consumed is gone as well; they learn how many. */
  function losePending(topic: number, from: number, to: number): void {
    for (const row of sql('consumersOf').all(topic)) {
      const { changes } = sql('losePending').run(int(row.id), from, to, topic)
      if (changes > 0) sql('addMissed').run(changes, int(row.id))
    }
  }

  function clearAway(): void {
    keys.sweep(now())
    sql('expiredValues').run(now(), SLICE)
    sql('expiredResults').run(now() - KEY_AGE, SLICE)
  }

  return async (policy) => {
    let removed = 0
    for (let count = 0; count < SLICES; count++) {
      const some = await writer.write(() => slice(policy))
      removed += some
      if (some === 0) break
    }
    await writer.write(clearAway)
    return { removed }
  }
}
