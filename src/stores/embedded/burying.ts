import type { Burial } from '../../core/store.ts'
import { createEndedJobs } from './ended-jobs.ts'
import { type Running, STATE } from './job-rows.ts'
import type { JournalTable } from './journal.ts'
import type { Parts } from './parts.ts'

/** See `Jobs.bury`. `name`: the queue's name. Only inside a transaction. */
export function createBurying(parts: Parts, journal: JournalTable, messageOf: (row: Running) => unknown) {
  const { sql, counters, signals } = parts
  const { bury, notifyWaiters, remove } = createEndedJobs(parts, messageOf)

  return (queue: number, name: string, id: string, end: Burial): boolean => {
    const now = parts.now()
    // An expired claim keeps its token: it is still valid until another worker claims the job.
    const row = sql.get<
      Running & { state: number }
    >`SELECT n, id, lane, notify, message, message_id, errors, kept, state
      FROM job WHERE queue = ${queue} AND id = ${id} AND state <> 2 AND token IS NULL`
    if (!row) return false
    if (end.notes && row.message !== null) journal.appendNotesIfThere(row.message, row.message_id, end.notes)
    bury(queue, row, end, now)
    if (row.notify !== 0) notifyWaiters(queue, row, now)
    if (row.state !== STATE.behind) {
      if (remove(queue, new Map([[row.n, row.lane]]), now)) signals.raise(`jobs:${name}`)
    } else {
      // The head of its lane stays what it is.
      sql.run`DELETE FROM job WHERE n = ${row.n}`
      counters.add(`jobs ${queue}`, -1)
    }
    return true
  }
}
