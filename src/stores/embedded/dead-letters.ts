import type { DeadLetter, DeadLetters, NewJob } from '../../core/store.ts'
import { type JobRows, parseErrors, parseJson, parseMessage, toReason } from './job-rows.ts'
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

  function revive(row: Row): void {
    const data = maybeText(row.data)
    const messageId = maybeText(row.message_id)
    const job: NewJob = {
      id: text(row.id),
      lane: text(row.lane),
      group: text(row.grp),
      ...(data === undefined ? {} : { data: parseJson(data) }),
      ...(messageId === undefined ? {} : { messageId }),
      ...(int(row.notify) === 1 ? { notify: true } : {}),
    }
    rows.insert(int(row.queue_id), text(row.queue), job, maybeText(row.kept))
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
        revive(row)
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
  const letter: DeadLetter = {
    id: text(row.id),
    queue: text(row.queue),
    at: int(row.at),
    lane: text(row.lane),
    group: text(row.grp),
    reason: toReason(text(row.reason)),
    errors: parseErrors(text(row.errors)),
  }
  const data = maybeText(row.data)
  if (data !== undefined) letter.data = parseJson(data)
  const kept = maybeText(row.kept)
  if (kept !== undefined) letter.message = parseMessage(kept)
  return letter
}
