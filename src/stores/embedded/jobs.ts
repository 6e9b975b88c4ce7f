import { makeId } from '../../core/message-id.ts'
import type { JobState, Jobs, NewJob } from '../../core/store.ts'
import { lastOf, toReason } from '../shared/values.ts'
import { createClaims } from './claims.ts'
import { createDeadLetters } from './dead-letters.ts'
import { errorsOf, type JobRows } from './job-rows.ts'
import type { JournalTable } from './journal.ts'
import type { Parts } from './parts.ts'
import { KEY_AGE } from './remembered-keys.ts'
import { int, maybeText, prepareAll, type Row, text } from './sql.ts'

/** Jobs in lanes. */
export function createJobs(parts: Parts, rows: JobRows, journal: JournalTable): Jobs {
  const { db, writer, queues, keys, read } = parts
  const sql = prepareAll(db, 'jobs.sql')

  function addOne(queue: string, job: NewJob): { added: boolean } {
    const now = parts.now()
    const hash = keys.hash('job', queue, job.id)
    if (keys.find(hash, now)) return { added: false }
    const added = rows.insert(queues.number(queue), queue, job)
    if (added) keys.remember(hash, makeId(now, 0))
    return { added }
  }

  function state(queue: number, id: string): JobState | undefined {
    const job = sql('state').get(queue, id)
    if (job) return { state: int(job.state) === 2 ? 'running' : 'waiting', failures: int(job.failures) }
    const dead = sql('deathOf').get(queue, id)
    if (dead) return { state: 'dead', error: lastOf(errorsOf(dead)), reason: toReason(text(dead.reason)) }
    const done = sql('finished').get(queue, id, parts.now() - KEY_AGE)
    return done && toDone(done)
  }

  return {
    add: (queue, jobs) => writer.write(() => jobs.map((job) => addOne(queue, job))),
    ...createClaims(parts, rows, journal),
    state: (queue, id) =>
      read(() => {
        const number = queues.find(queue)
        return number === undefined ? undefined : state(number, id)
      }),
    list: (queue, limit) =>
      read(() =>
        sql('list')
          .all(queues.find(queue) ?? 0, limit)
          .map((row) => ({
            id: text(row.id),
            lane: text(row.lane),
            group: text(row.grp),
            running: int(row.state) === 2,
            failures: int(row.failures),
            due: int(row.due),
          })),
      ),
    deadLetters: createDeadLetters(parts, rows),
  }
}

function toDone(row: Row): JobState {
  const result = maybeText(row.result)
  const done = { state: 'done' as const, at: int(row.at) }
  return result === undefined ? done : { ...done, result: JSON.parse(result) }
}
