import type { DeadLetter, DeadLetters } from '../../core/store.ts'
import { toReason } from '../shared/values.ts'
import { errorsOf, type JobRows, keptMessage, toJob } from './job-rows.ts'
import type { Parts } from './parts.ts'
import { int, maybeText, prepareAll, type Row, text } from './sql.ts'

/** Dead letters. The id is that of the job: for dispatch, of the message. */
export function createDeadLetters(parts: Parts, rows: JobRows): DeadLetters {
  const { db, writer, counters, queues, read } = parts
  const sql = prepareAll(db, 'jobs.sql')

  function remove(row: Row): void {
    sql('dropLetter').run(int(row.n))
    counters.add(`dead ${int(row.queue_id)}`, -1)
  }

  return {
    list: ({ queue, group, limit }) =>
      read(() => {
        const number = queue === undefined ? 0 : queues.find(queue)
        if (number === undefined) return []
        return sql('letters')
          .all(number, group ?? null, limit)
          .map(toLetter)
      }),
    get: (id) =>
      read(() => {
        const row = sql('letter').get(id)
        return row && toLetter(row)
      }),
    retry: (id) =>
      writer.write(() => {
        const row = sql('letter').get(id)
        if (!row) return false
        remove(row)
        rows.insert(int(row.queue_id), text(row.queue), toJob(row), maybeText(row.kept))
        return true
      }),
    drop: (id) =>
      writer.write(() => {
        const row = sql('letter').get(id)
        if (row) remove(row)
        return row !== undefined
      }),
  }
}

function toLetter(row: Row): DeadLetter {
  const { id, lane, group, data } = toJob(row)
  const message = keptMessage(row)
  return {
    id,
    queue: text(row.queue),
    at: int(row.at),
    lane,
    group,
    reason: toReason(text(row.reason)),
    errors: errorsOf(row),
    ...(data === undefined ? {} : { data }),
    ...(message ? { message } : {}),
  }
}
