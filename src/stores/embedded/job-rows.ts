import type { Json } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import { positionOf } from '../../core/message-id.ts'
import type { AttemptError, DeadReason, JobState, NewJob } from '../../core/store.ts'
import type { Parts } from './parts.ts'
import { prepareAll, type Row, text } from './sql.ts'

/** What the parts about jobs do with rows of the table `job`. */
export type JobRows = {
  /**
   * Adds a job at the end of its lane. False: that id is unfinished in the queue. Inside a transaction
   * only. `kept` is the message of a job whose message may be gone from the journal.
   */
  insert(queue: number, name: string, job: NewJob, kept?: string): boolean
  /** Removes a job and makes the next of its lane the head. Inside a transaction only. */
  remove(queue: number, name: string, n: number, lane: string): void
  deathOf(row: Row): JobState
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
    deathOf: (row) => {
      const error = parseErrors(text(row.errors)).at(-1) ?? { at: 0, code: 'internal', message: '' }
      return { state: 'dead', error, reason: toReason(text(row.reason)) }
    },
  }
}

export function parseErrors(json: string): AttemptError[] {
  const errors: AttemptError[] = JSON.parse(json)
  return errors
}

export function parseJson(json: string): Json {
  return JSON.parse(json)
}

export function parseMessage(json: string): Message {
  return JSON.parse(json)
}

export function toReason(reason: string): DeadReason {
  return reason === 'permanent' || reason === 'ambiguous' ? reason : 'attempts'
}
