import { makeId } from '../../core/message-id.ts'
import type { DeadLetter, DeadLetters, JobEnd, Jobs, NewJob } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import { lastOf, toReason, WEEK } from '../shared/values.ts'
import { createClaims } from './claims.ts'
import { errorsOf, insertJob, keptMessage, toJob } from './job-rows.ts'
import type { JournalTable } from './journal.ts'
import type { Parts } from './parts.ts'
import { int, maybeJson, maybeText, type Row, readSome, text } from './sql.ts'

const LETTER = `SELECT d.n, d.queue AS queue_id, q.name AS queue, d.id, d.at, d.lane, d.grp, d.reason, d.notify,
  d.message_id, d.data, d.errors, d.kept FROM dead d CROSS JOIN queue q ON q.id = d.queue`
/** By job id; where two queues have a dead job of that id, the newest. */
const LETTER_OF = `${LETTER} WHERE d.id = ? ORDER BY d.n DESC LIMIT 1`
/** Newest first. Null: any. */
const LETTERS = `${LETTER} WHERE (?1 IS NULL OR q.name = ?1) AND (?2 IS NULL OR d.grp = ?2)
  ORDER BY d.n DESC LIMIT ?3 + 0`

/** Jobs in lanes. */
export function createJobs(parts: Parts, journal: JournalTable): Jobs {
  const { sql, writer, queues, keys, read } = parts

  function addOne(queue: string, job: NewJob): { added: boolean } {
    const now = parts.now()
    const hash = keys.hash('job', queue, job.id)
    if (keys.find(hash, now)) return { added: false }
    const added = insertJob(parts, queues.number(queue), queue, job)
    if (added) keys.remember(hash, makeId(now, 0))
    return { added }
  }

  function end(queue: number, id: string): JobEnd | undefined {
    const dead = sql('SELECT errors FROM dead WHERE queue = ? AND id = ?').get(queue, id)
    if (dead) return { state: 'dead', error: lastOf(errorsOf(dead)) }
    const finished = sql('SELECT result FROM done WHERE queue = ? AND id = ? AND at > ?')
    const done = finished.get(queue, id, parts.now() - WEEK)
    return done && { state: 'done', ...defined({ result: maybeJson(done.result) }) }
  }

  return {
    add: (queue, jobs) => writer.write(() => jobs.map((job) => addOne(queue, job))),
    ...createClaims(parts, journal),
    end: (queue, id) => read(() => end(queues.find(queue) ?? 0, id)),
    deadLetters: createDeadLetters(parts),
  }
}

/** The id of a dead letter is that of the job: for dispatch, of the message. */
function createDeadLetters(parts: Parts): DeadLetters {
  const { sql, writer, counters, read } = parts

  /** Removes a letter and returns what it was. */
  function remove(id: string): Row | undefined {
    const row = sql(LETTER_OF).get(id)
    if (!row) return undefined
    sql('DELETE FROM dead WHERE n = ?').run(int(row.n))
    counters.add(`dead ${int(row.queue_id)}`, -1)
    return row
  }

  return {
    list: ({ queue, group, limit }) =>
      read(() => {
        const rows = sql(LETTERS).iterate(queue ?? null, group ?? null, limit)
        return readSome(rows, toLetter, ({ message }) => message?.text).found
      }),
    ids: () =>
      read(() =>
        sql('SELECT id FROM dead')
          .all()
          .map((row) => text(row.id)),
      ),
    get: (id) =>
      read(() => {
        const row = sql(LETTER_OF).get(id)
        return row && toLetter(row)
      }),
    retry: (id) =>
      writer.write(() => {
        const row = remove(id)
        if (row) insertJob(parts, int(row.queue_id), text(row.queue), toJob(row), maybeText(row.kept))
        return row !== undefined
      }),
    drop: (id) => writer.write(() => remove(id) !== undefined),
  }
}

function toLetter(row: Row): DeadLetter {
  const { id, lane, group, data } = toJob(row)
  const [queue, at, reason] = [text(row.queue), int(row.at), toReason(text(row.reason))]
  const errors = errorsOf(row)
  return { id, queue, at, lane, group, reason, errors, ...defined({ data, message: keptMessage(row) }) }
}
