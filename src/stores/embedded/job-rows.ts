import type { Message } from '../../core/message.ts'
import { positionOf } from '../../core/message-id.ts'
import type { AttemptError, NewJob } from '../../core/store.ts'
import type { Parts } from './parts.ts'
import { int, maybeText, prepareAll, type Row, text } from './sql.ts'

/** What the parts about jobs do with rows of the table `job`. */
export type JobRows = {
  /**
   * Adds a job at the end of its lane. False: that id is unfinished in the queue. Inside a transaction
   * only. `kept` is the message of a job whose message may be gone from the journal.
   */
  insert(queue: number, name: string, job: NewJob, kept?: string): boolean
  /** Removes a job and makes the next of its lane the head. Inside a transaction only. */
  remove(queue: number, name: string, n: number, lane: string): void
}

export function createJobRows({ db, counters, signals, now }: Parts): JobRows {
  const sql = prepareAll(db, 'jobs.sql')
  const [insert, remove, promote] = [sql('insert'), sql('remove'), sql('promote')]
  return {
    insert: (queue, name, job, kept) => {
      const { id, lane, group, messageId, data, notBefore, notify } = job
      const { changes } = insert.run(
        queue,
        id,
        lane,
        group,
        Math.max(now(), notBefore ?? 0),
        notify ? 1 : 0,
        notBefore ?? null,
        (messageId === undefined ? undefined : positionOf(messageId)) ?? null,
        messageId ?? null,
        data === undefined ? null : JSON.stringify(data),
        kept ?? null,
      )
      if (changes === 0) return false
      counters.add(`jobs ${queue}`, 1)
      signals.raise(`jobs:${name}`)
      return true
    },
    remove: (queue, name, n, lane) => {
      remove.run(n)
      promote.run(queue, lane, now())
      counters.add(`jobs ${queue}`, -1)
      signals.raise(`jobs:${name}`)
    },
  }
}

/** What a row of `job` or `dead` has of the job as it was added. */
export function toJob(row: Row): NewJob {
  const job: NewJob = { id: text(row.id), lane: text(row.lane), group: text(row.grp) }
  const data = maybeText(row.data)
  if (data !== undefined) job.data = JSON.parse(data)
  const messageId = maybeText(row.message_id)
  if (messageId !== undefined) job.messageId = messageId
  if (int(row.notify) === 1) job.notify = true
  return job
}

/** The message that a row keeps itself, because retention may remove it from the journal. */
export function keptMessage(row: Row): Message | undefined {
  const kept = maybeText(row.kept)
  return kept === undefined ? undefined : JSON.parse(kept)
}

export function errorsOf(row: Row): AttemptError[] {
  return JSON.parse(text(row.errors))
}
