import type { AttemptError, Burial, Settled } from '../../core/store.ts'
import type { JobRow, Running } from './job-rows.ts'
import type { Parts } from './parts.ts'
import { toJson } from './sql.ts'

/** The lanes of ended jobs, by the number of the job. */
type Ended = ReadonlyMap<number, string>

/** What is stored when jobs end. Only inside a transaction. */
export function createEndedJobs({ sql, counters, signals }: Parts, messageOf: (row: Running) => unknown) {
  function bury(queue: number, row: Running, outcome: Burial, now: number): void {
    // An earlier run of the job may have left a dead letter.
    const replaced = sql.run`DELETE FROM dead WHERE queue = ${queue} AND id = ${row.id}`
    sql.run`INSERT INTO dead (queue, id, at, lane, grp, reason, notify, message_id, data, errors, kept, first_run)
      SELECT queue, id, ${now}, lane, grp, ${outcome.reason}, notify, message_id, data,
        ${withError(row, outcome.error)}, ${toJson(messageOf(row))}, first_run FROM job WHERE n = ${row.n}`
    counters.add(`dead ${queue}`, 1 - replaced)
  }

  function notifyWaiters(queue: number, { id }: Running, now: number, outcome?: Settled): void {
    if (outcome?.outcome === 'done')
      sql.run`INSERT OR REPLACE INTO done (queue, id, at, result)
        VALUES (${queue}, ${id}, ${now}, ${toJson(outcome.result)})`
    signals.raise(`job:${id}`)
  }

  /** Removes jobs, and makes the next job of each lane its head. Returns whether there is any. */
  function remove(queue: number, ended: Ended, now: number): boolean {
    if (ended.size === 0) return false
    const rows = JSON.stringify([...ended.keys()])
    const lanes = JSON.stringify([...ended.values()])
    sql.run`DELETE FROM job WHERE n IN (SELECT value FROM json_each(${rows}))`
    counters.add(`jobs ${queue}`, -ended.size)
    const heads = sql.run`UPDATE job SET state = 1, due = max(due, ${now}) WHERE n IN (
      SELECT (SELECT n FROM job WHERE queue = ${queue} AND lane = value ORDER BY n LIMIT 1) FROM json_each(${lanes}))`
    return heads > 0
  }

  return { bury, notifyWaiters, remove }
}

export function withError({ errors }: JobRow, error: AttemptError): string {
  return JSON.stringify([...JSON.parse(errors), error])
}
