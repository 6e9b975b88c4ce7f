import { isJsonObject } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import { positionOf } from '../../core/message-id.ts'
import type { AttemptError, DeadReason, NewJob } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import type { Parts } from './parts.ts'
import { fromJson, toJson } from './sql.ts'

/**
 * The values of the column `state`: behind the head of the lane, head, claimed head, held head.
 * Statements that use the partial indexes of `job` contain the numbers, because these indexes need
 * literals.
 */
export const STATE = { behind: 0, head: 1, claimed: 2, held: 3 } as const

/**
 * The number of a claimed job, from its token `n.serial`: the number of the job, and that of the
 * claim.
 */
export const jobNumberOf = (token: string) => Number.parseInt(token, 10)

/**
 * Adds a job at the end of its lane; in an empty lane, as the head. Returns false if an unfinished
 * job has that id. Only inside a transaction. `again`: of the dead letter that the job was.
 */
export function insertJob(parts: Parts, name: string, job: NewJob, again: Again = {}): boolean {
  const { kept = null, firstRun = null } = again
  const { id, lane, group, messageId = null, data, notify } = job
  const position = positionOf(messageId ?? '') ?? null
  const { sql, counters, signals, now } = parts
  const queue = parts.queues.number(name)
  const added = sql.run`INSERT INTO job (queue, id, lane, grp, state, due, notify, message, message_id, data, kept, first_run)
    VALUES (${queue}, ${id}, ${lane}, ${group},
      NOT EXISTS (SELECT 1 FROM job WHERE queue = ${queue} AND lane = ${lane}),
      ${now()}, ${notify ? 1 : 0}, ${position}, ${messageId}, ${toJson(data)}, ${kept}, ${firstRun})
    ON CONFLICT (queue, id) DO NOTHING`
  if (added === 0) return false
  counters.add(`jobs ${queue}`, 1)
  signals.raise(`jobs:${name}`)
  return true
}

/**
 * The message, which the journal may no longer have, and the first run, as in the columns of
 * `dead`.
 */
type Again = { kept?: string | null; firstRun?: string }

/**
 * When a dead letter first died, the attempts until then, and its last retry. `undo`: what the letter
 * was before that, and who may undo the retry.
 */
export type FirstRun = { at: number; errors: AttemptError[]; retriedAt: number; undo?: UndoneRetry }

/** `n`: its number. `errors`, `retriedAt`: of a letter that was not in its first run. */
type UndoneRetry = {
  by: string
  n: number
  at: number
  reason: DeadReason
  errors?: AttemptError[]
  retriedAt?: number
}

/** Common columns of `job` and `dead`. */
export type JobRow = {
  id: string
  lane: string
  grp: string
  notify: number
  message_id: string | null
  data: string | null
  /** List of errors as JSON. */
  errors: string
  /** The message as JSON, if retention may remove it from the journal. */
  kept: string | null
  /** The first run of a retried dead letter, a `FirstRun` as JSON. */
  first_run: string | null
}

/** A row of a claimed or claimable job. */
export type Running = JobRow & { n: number; message: number | null; failures: number; lost: number }

/**
 * A claim of this process. `isInJournal`: the journal has the message of the job, and keeps it
 * while the job exists.
 */
export type Claimed = { token: string; queue: number; row: Running; isInJournal: boolean }

/** The job of a row as it was added, and the messages merged into it. */
export function toJob({ id, lane, grp: group, notify, message_id, data }: JobRow) {
  const job: NewJob & { collected?: Message[] } = { id, lane, group }
  const read: unknown = fromJson(data)
  if (!isCollected(read)) Object.assign(job, defined({ data: read }))
  else if (read.collected.length > 0) job.collected = read.collected
  if (message_id !== null) job.messageId = message_id
  if (notify === 1) job.notify = true
  return job
}

/** Data written by `merge.ts`; other jobs have different data. */
function isCollected(data: unknown): data is { collected: Message[] } {
  return isJsonObject(data) && Object.keys(data).length === 1 && Array.isArray(data.collected)
}
