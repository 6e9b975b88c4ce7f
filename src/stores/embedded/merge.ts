import type { Message } from '../../core/message.ts'
import { timeOf } from '../../core/message-id.ts'
import type { BusyLane } from '../../core/store.ts'
import { type JobRow, jobNumberOf } from './job-rows.ts'
import type { JournalTable } from './journal.ts'
import type { Parts } from './parts.ts'
import { createUntouchedJobs, type UntouchedJob, type WaitingJob } from './untouched-jobs.ts'

/** History entries of a merged message, and of the message whose call takes it. */
const INTO_NOTES = { collected: 'collects', superseded: 'supersedes', steered: 'is steered' }

/**
 * Merges messages into the call of another message of their lane instead of running their own jobs.
 * From its first claim, the job of that other message has the data `{collected}` (possibly empty),
 * and is not merged itself. Only inside a transaction.
 */
export function createMerging(parts: Parts, journal: JournalTable) {
  const { sql, counters, signals } = parts
  const untouched = createUntouchedJobs(sql, journal)

  /**
   * Removes untouched jobs from their lane and adds their messages to the job of the row `into`.
   */
  function merge(
    queue: number,
    jobs: readonly UntouchedJob[],
    into: number,
    what: keyof typeof INTO_NOTES,
  ): void {
    const row = sql.get<WaitingJob>`SELECT data, message, message_id FROM job WHERE n = ${into}`
    const before: Message[] = row?.data ? JSON.parse(row.data).collected : []
    const data = JSON.stringify({ collected: [...before, ...jobs.map(({ content }) => content)] })
    sql.run`UPDATE job SET data = ${data} WHERE n = ${into}`
    const note = (
      { message, message_id }: WaitingJob,
      said: string,
      detail: { into: string } | { messages: string[] },
    ) =>
      journal.appendNotesIfThere(message, message_id, [
        { at: parts.now(), road: 'dispatch', what: said, detail },
      ])
    for (const job of jobs) {
      note(job, what, { into: row?.message_id ?? '' })
      sql.run`DELETE FROM job WHERE n = ${job.n}`
      counters.add(`jobs ${queue}`, -1)
      if (job.notify === 0) continue
      sql.run`INSERT OR REPLACE INTO done (queue, id, at, result)
        VALUES (${queue}, ${job.id}, ${parts.now()}, ${'{"outcome":"done","replies":0}'})`
      signals.raise(`job:${job.id}`)
    }
    if (row && jobs.length > 0) note(row, INTO_NOTES[what], { messages: jobs.map(({ id }) => id) })
  }

  return {
    /**
     * The row to claim for the head of a lane: the newest job, after the others were merged into
     * it, or the head if nothing is merged. Undefined while the lane waits to settle.
     */
    chosen(queue: number, head: number, busy: Record<string, BusyLane>): number | undefined {
      const row = sql.get<JobRow>`SELECT lane, grp FROM job WHERE n = ${head}`
      const how = row && Object.hasOwn(busy, row.grp) ? busy[row.grp] : undefined
      if (!row || !how) return head
      const jobs = untouched(queue, row.lane, row.grp, head)
      const first = jobs[0]
      const newest = jobs.pop()
      if (!first || !newest) return head
      const { merge: what, settle = 0 } = how
      const due = Math.min(timeOf(newest.id) + settle, timeOf(first.id) + 10 * settle)
      if (settle > 0 && due > parts.now()) {
        sql.run`UPDATE job SET due = ${due} WHERE n = ${head}`
        return undefined
      }
      if (!what) return head
      merge(queue, jobs, newest.n, what)
      return newest.n
    },
    /** See `Jobs.mergeFollowing`. */
    mergeFollowing(queue: number, { id, token, group }: { id: string; token: string; group: string }) {
      const row = sql.get<WaitingJob>`SELECT n, lane, message FROM job
        WHERE n = ${jobNumberOf(token)} AND queue = ${queue} AND id = ${id} AND token = ${token}`
      if (!row) return undefined
      const own = journal.at(row.message)
      const jobs = own ? untouched(queue, row.lane, group, row.n + 1, own) : []
      if (jobs.length > 0) merge(queue, jobs, row.n, 'steered')
      return jobs.map(({ content }) => content)
    },
  }
}
