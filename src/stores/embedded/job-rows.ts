import type { Message } from '../../core/message.ts'
import { positionOf } from '../../core/message-id.ts'
import type { AttemptError, NewJob } from '../../core/store.ts'
import type { Parts } from './parts.ts'
import { int, maybeJson, maybeText, type Row, text, toJson } from './sql.ts'

/**
 * Adds a job at the end of its lane: as its head (state 1) where the lane is empty, else behind (0). False: that id is
 * unfinished in the queue. Inside a transaction only. `kept` is the message of a job whose message may be gone from the
 * journal.
 */
export function insertJob(parts: Parts, queue: number, name: string, job: NewJob, kept?: string): boolean {
  const { id, lane, group, messageId, data, notify } = job
  const { changes } = parts
    .sql(`INSERT INTO job (queue, id, lane, grp, state, due, notify, message, message_id, data, kept)
      VALUES (?1, ?2, ?3, ?4, NOT EXISTS (SELECT 1 FROM job WHERE queue = ?1 AND lane = ?3),
        ?5, ?6, ?7, ?8, ?9, ?10)
      ON CONFLICT (queue, id) DO NOTHING`)
    .run(
      queue,
      id,
      lane,
      group,
      parts.now(),
      notify ? 1 : 0,
      (messageId === undefined ? undefined : positionOf(messageId)) ?? null,
      messageId ?? null,
      toJson(data),
      kept ?? null,
    )
  if (changes === 0) return false
  parts.counters.add(`jobs ${queue}`, 1)
  parts.signals.raise(`jobs:${name}`)
  return true
}

/** What a row of `job` or `dead` has of the job as it was added. */
export function toJob(row: Row): NewJob {
  const job: NewJob = { id: text(row.id), lane: text(row.lane), group: text(row.grp) }
  const data = maybeJson(row.data)
  if (data !== undefined) job.data = data
  const messageId = maybeText(row.message_id)
  if (messageId !== undefined) job.messageId = messageId
  if (int(row.notify) === 1) job.notify = true
  return job
}

/** The message that a row keeps itself, because retention may remove it from the journal. */
export function keptMessage(row: Row): Message | undefined {
  return maybeJson(row.kept)
}

export function errorsOf(row: Row): AttemptError[] {
  return JSON.parse(text(row.errors))
}
