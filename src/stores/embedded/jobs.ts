import { RESULT_TTL } from '../../core/lifetimes.ts'
import { makeId } from '../../core/message-id.ts'
import type {
  AttemptError,
  DeadLetter,
  DeadLetters,
  JobEnd,
  Jobs,
  NewJob,
  UnfinishedJob,
} from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import { lastOf } from '../shared/values.ts'
import { createClaims } from './claims.ts'
import { type FirstRun, insertJob, type JobRow, type Running, STATE, toJob } from './job-rows.ts'
import type { JournalTable } from './journal.ts'
import type { Parts } from './parts.ts'
import { fromJson, readPage } from './sql.ts'

type LetterRow = JobRow & {
  n: number
  queue: number
  queue_name: string
  at: number
  reason: DeadLetter['reason']
}

type UnfinishedRow = Pick<Running, 'grp' | 'failures' | 'errors'> & { state: number; due: number }

/** The job queues, with their lanes. */
export function createJobs(parts: Parts, journal: JournalTable): Jobs & { forgetClaim(n: number): void } {
  const { sql, writer, queues, keys, read, signals } = parts

  function addOne(queue: string, job: NewJob): { added: boolean } {
    const now = parts.now()
    const hash = keys.hash('job', queue, job.id)
    if (keys.find(hash, now)) return { added: false }
    const added = insertJob(parts, queue, job)
    if (added) keys.remember(hash, makeId(now, 0))
    return { added }
  }

  function end(queue: number, id: string): JobEnd | undefined {
    const dead = sql.get<LetterRow>`SELECT errors, at FROM dead WHERE queue = ${queue} AND id = ${id}`
    if (dead) return { state: 'dead', at: dead.at, error: lastOf(JSON.parse(dead.errors)) }
    const done = sql.get<{ at: number; result: string | null }>`SELECT at, result FROM done
      WHERE queue = ${queue} AND id = ${id} AND at > ${parts.now() - RESULT_TTL}`
    return done && { state: 'done', at: done.at, ...defined({ result: fromJson(done.result) }) }
  }

  function unfinished(queue: number, id: string): UnfinishedJob | undefined {
    const row = sql.get<UnfinishedRow>`SELECT grp, state, due, failures, errors FROM job
      WHERE queue = ${queue} AND id = ${id}`
    if (!row) return undefined
    const error: AttemptError | undefined = JSON.parse(row.errors).at(-1)
    const known = { group: row.grp, ...defined({ error }) }
    if (row.state === STATE.claimed) return { ...known, state: 'running' }
    return row.failures > 0
      ? { ...known, state: 'retrying', nextAt: row.due }
      : { ...known, state: 'waiting' }
  }

  const { forget: forgetClaim, undoRetry, ...claims } = createClaims(parts, journal)
  return {
    forgetClaim,
    add: (queue, jobs) => writer.write(() => jobs.map((job) => addOne(queue, job))),
    ...claims,
    held: (queue, after, limit) =>
      read(() => {
        const rows = sql.all<{ id: string; lane: string; grp: string }>`SELECT id, lane, grp FROM job
          WHERE queue = ${queues.find(queue) ?? 0} AND id > ${after} AND state = ${STATE.held} ORDER BY id LIMIT ${limit} + 1`
        const items = rows.slice(0, limit).map(({ id, lane, grp: group }) => ({ id, lane, group }))
        return { items, more: rows.length > limit }
      }),
    unhold: (queue, ids) =>
      writer.write(() => {
        const count = sql.run`UPDATE job SET state = 1 WHERE queue = ${queues.find(queue) ?? 0} AND state = ${STATE.held}
          AND id IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`
        if (count > 0) signals.raise(`jobs:${queue}`)
        return count
      }),
    hasten: (queue, ids) =>
      writer.write(() => {
        const number = queues.find(queue) ?? 0
        const now = parts.now()
        const count = ids
          ? sql.run`UPDATE job SET due = ${now} WHERE queue = ${number} AND state = 1 AND due > ${now}
              AND id IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`
          : sql.run`UPDATE job SET due = ${now} WHERE queue = ${number} AND state = 1 AND due > ${now}`
        if (count > 0) signals.raise(`jobs:${queue}`)
        return count
      }),
    nextDue: (queue) =>
      read(() => {
        const row = sql.get<{ due: number | null }>`SELECT min(due) AS due FROM job
          WHERE queue = ${queues.find(queue) ?? 0} AND state = 1`
        return row?.due ?? undefined
      }),
    unfinished: (queue, id) => read(() => unfinished(queues.find(queue) ?? 0, id)),
    end: (queue, id) => read(() => end(queues.find(queue) ?? 0, id)),
    deadLetters: { ...createDeadLetters(parts), undoRetry },
  }
}

/** Dead letters. Their id is the id of the job; in dispatch, of the message. */
function createDeadLetters(parts: Parts): Omit<DeadLetters, 'undoRetry'> {
  const { sql, writer, counters, read } = parts

  /** Finds by job id; the newest if several queues have a dead job with that id. */
  const find = (id: string, queue: string | null = null) =>
    sql.get<LetterRow>`SELECT * FROM letter WHERE id = ${id} AND (${queue} IS NULL OR queue_name = ${queue})
      ORDER BY n DESC LIMIT 1`

  function remove({ n, queue }: LetterRow): true {
    sql.run`DELETE FROM dead WHERE n = ${n}`
    counters.add(`dead ${queue}`, -1)
    return true
  }

  /** Adds the job of a dead letter. Returns false if an unfinished job has its id. */
  function addAgain(row: LetterRow, by?: string): boolean {
    const { kept, queue_name } = row
    const firstRun = JSON.stringify(firstRunOf(row, parts.now(), by))
    return insertJob(parts, queue_name, { ...toJob(row), data: fromJson(row.data) }, { kept, firstRun })
  }

  return {
    list: ({ queue = null, group = null, before, limit }) =>
      read(() => {
        const { at, id } = before ?? { at: Number.MAX_SAFE_INTEGER, id: '' }
        // Sorts only the numbers, as the rows may be large.
        const rows = sql.iterate<LetterRow>`SELECT letter.* FROM
            (SELECT n FROM letter WHERE (${queue} IS NULL OR queue_name = ${queue}) AND (${group} IS NULL OR grp = ${group})
              AND (at, id) < (${at}, ${id}) ORDER BY at DESC, id DESC LIMIT ${limit} + 1) place
          CROSS JOIN letter ON letter.n = place.n ORDER BY at DESC, letter.id DESC`
        return readPage(rows, limit, toLetter, ({ message }) => message?.text)
      }),
    ids: () => read(() => sql.all<{ id: string }>`SELECT id FROM dead`.map(({ id }) => id)),
    get: (id, queue) =>
      read(() => {
        const row = find(id, queue)
        return row && toLetter(row)
      }),
    retry: (id, queue, by) =>
      writer.write(() => {
        const row = find(id, queue)
        return row !== undefined && addAgain(row, by) && remove(row)
      }),
    drop: (id, queue) =>
      writer.write(() => {
        const row = find(id, queue)
        return row !== undefined && remove(row)
      }),
  }
}

/** The first run of a letter that is retried now. */
function firstRunOf(
  { n, at, reason, errors, first_run }: LetterRow,
  retriedAt: number,
  by?: string,
): FirstRun {
  const known: FirstRun | undefined = fromJson(first_run)
  const last: AttemptError[] = JSON.parse(errors)
  const again = known && { errors: last, retriedAt: known.retriedAt }
  return {
    at: known?.at ?? at,
    errors: known?.errors ?? last,
    retriedAt,
    ...(by !== undefined && { undo: { by, n, at, reason, ...again } }),
  }
}

function toLetter(row: LetterRow): DeadLetter {
  const { id, lane, group, data, collected } = toJob(row)
  const { queue_name: queue, at, reason } = row
  const errors = JSON.parse(row.errors)
  const message = fromJson(row.kept)
  const first: FirstRun | undefined = fromJson(row.first_run)
  const retried = first && { firstAt: first.at, firstErrors: first.errors, retriedAt: first.retriedAt }
  return { id, queue, at, lane, group, reason, errors, ...defined({ data, message, collected }), ...retried }
}
