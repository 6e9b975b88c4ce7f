import type { Burial, Note } from '../../core/store.ts'
import { createEndedJobs } from './ended-jobs.ts'
import { type FirstRun, type Running, STATE } from './job-rows.ts'
import type { JournalTable } from './journal.ts'
import type { Parts } from './parts.ts'
import { fromJson, toJson } from './sql.ts'

type Unclaimed = Running & { state: number }

/**
 * Ends jobs that nobody has claimed: see `Jobs.bury` and `DeadLetters.undoRetry`. `name`: the queue's
 * name. Only inside a transaction.
 */
export function createBurying(parts: Parts, journal: JournalTable, messageOf: (row: Running) => unknown) {
  const { sql, counters, signals } = parts
  const { bury, notifyWaiters, remove } = createEndedJobs(parts, messageOf)

  // An expired claim keeps its token: it is still valid until another worker claims the job.
  const find = (queue: number, id: string) =>
    sql.get<Unclaimed>`SELECT n, id, lane, notify, message, message_id, errors, kept, first_run, state
      FROM job WHERE queue = ${queue} AND id = ${id} AND state <> 2 AND token IS NULL`

  function note({ message, message_id: id }: Unclaimed, notes: readonly Note[] | undefined): void {
    if (notes && message !== null) journal.appendNotesIfThere(message, id, notes)
  }

  /** Removes a job whose dead letter was stored. */
  function leave(queue: number, name: string, row: Unclaimed, now: number): void {
    if (row.notify !== 0) notifyWaiters(queue, row, now)
    if (row.state !== STATE.behind) {
      if (remove(queue, new Map([[row.n, row.lane]]), now)) signals.raise(`jobs:${name}`)
    } else {
      // The head of its lane stays what it is.
      sql.run`DELETE FROM job WHERE n = ${row.n}`
      counters.add(`jobs ${queue}`, -1)
    }
  }

  /** Stores the letter under its old number, which has its place, unless another letter has that. */
  function restore(queue: number, row: Unclaimed, { undo, ...first }: FirstRun): void {
    if (!undo) return
    const { at, reason, errors = first.errors, retriedAt } = undo
    const firstRun = retriedAt === undefined ? null : JSON.stringify({ ...first, retriedAt })
    const replaced = sql.run`DELETE FROM dead WHERE queue = ${queue} AND id = ${row.id}`
    sql.run`INSERT INTO dead (n, queue, id, at, lane, grp, reason, notify, message_id, data, errors, kept, first_run)
      SELECT CASE WHEN EXISTS (SELECT 1 FROM dead WHERE n = ${undo.n}) THEN NULL ELSE ${undo.n} END,
        queue, id, ${at}, lane, grp, ${reason}, notify, message_id, data,
        ${JSON.stringify(errors)}, ${toJson(messageOf(row))}, ${firstRun} FROM job WHERE n = ${row.n}`
    counters.add(`dead ${queue}`, 1 - replaced)
  }

  return {
    bury(queue: number, name: string, id: string, end: Burial): boolean {
      const now = parts.now()
      const row = find(queue, id)
      if (!row) return false
      note(row, end.notes)
      bury(queue, row, end, now)
      leave(queue, name, row, now)
      return true
    },
    undoRetry(queue: number, name: string, id: string, { by, notes }: Undo): boolean {
      const row = find(queue, id)
      const first: FirstRun | undefined = fromJson(row?.first_run ?? null)
      if (!row || first?.undo?.by !== by) return false
      note(row, notes)
      restore(queue, row, first)
      leave(queue, name, row, parts.now())
      return true
    },
  }
}

type Undo = { by: string; notes?: readonly Note[] }
