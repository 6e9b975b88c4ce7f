import { identityOf } from '../../core/identity.ts'
import { LARGE_READ, type Message } from '../../core/message.ts'
import type { JobRow } from './job-rows.ts'
import type { JournalTable } from './journal.ts'
import type { Sql } from './sql.ts'

/** Maximum jobs of one read. */
const MAX_JOBS = 100

export type WaitingJob = JobRow & {
  n: number
  message: number
  message_id: string
  failures: number
  lost: number
}
export type UntouchedJob = WaitingJob & { content: Message }

/** Makes a function that reads the jobs of a lane that no worker has claimed yet. */
export function createUntouchedJobs(sql: Sql, journal: JournalTable) {
  /**
   * The unclaimed jobs of a lane from a row on, with one message each, of one group and one sender
   * (default: that of the first), up to the size of one call.
   */
  return (queue: number, lane: string, group: string, from: number, sender?: Message): UntouchedJob[] => {
    const rows = sql.all<WaitingJob>`SELECT * FROM job WHERE queue = ${queue} AND lane = ${lane} AND n >= ${from}
      ORDER BY n LIMIT ${MAX_JOBS} + 0`
    const found: UntouchedJob[] = []
    let size = 0
    for (const row of rows) {
      const isTried = row.data !== null || row.kept !== null || row.failures + row.lost > 0
      if (row.grp !== group || row.message_id !== row.id || isTried) break
      const content = journal.at(row.message)
      size += content?.text.length ?? 0
      if (content?.id !== row.id || (found.length > 0 && size > LARGE_READ / 4)) break
      // All unverified senders have the same (no) rights.
      if (identityOf(content) !== identityOf(sender ?? found[0]?.content ?? content)) break
      found.push({ ...row, content })
    }
    return found
  }
}
