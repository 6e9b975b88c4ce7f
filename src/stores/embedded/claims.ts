import type { Message } from '../../core/message.ts'
import type { AttemptError, Claim, ClaimedJob, ClaimedJobs, Jobs, Settled } from '../../core/store.ts'
import { ownOf, storable } from '../shared/values.ts'
import { type JobRow, toJob } from './job-rows.ts'
import type { JournalTable } from './journal.ts'
import { createMerging } from './merge.ts'
import type { Parts } from './parts.ts'
import { fromJson, readSome, toJson } from './sql.ts'

type Head = { n: number; due: number; grp: string }
type Running = JobRow & { n: number; message: number | null; failures: number; lost: number }

/** Claims of the heads of lanes. In a lane only the job with the lowest n is ever in state 1 or 2: first in, first out. A token: `n.serial`. */
export function createClaims(
  parts: Parts,
  journal: JournalTable,
): Pick<Jobs, 'claim' | 'follow' | 'settle' | 'renew'> {
  const { sql, writer, counters, queues, signals } = parts
  const merging = createMerging(parts, journal)
  // Whoever held claims was the process before this one, and is dead.
  sql.run`UPDATE job SET until = min(until, ${parts.now()}) WHERE state = 2`

  function claim(queue: number, request: Claim): ClaimedJobs {
    const now = parts.now()
    // The token of a claim that ran out stays until another claims: a holder that lives may still settle.
    sql.run`UPDATE job SET state = 1, due = until, lost = lost + 1
      WHERE queue = ${queue} AND state = 2 AND until <= ${now}`
    const groups = groupsOf(queue)
    const claimHead = (n: number) => claimOne(n, now + storable(request.lease))
    const rows = claimable(queue, groups, request, now)
    const { found: jobs } = readSome(rows, claimHead, ({ message }) => message?.text)
    const next = nextDue(queue, groups, now)
    return next === undefined ? { jobs } : { jobs, nextDue: next }
  }

  /** The rows to claim, each claimed before the next is asked for; others in the places of those that wait for more. */
  function* claimable(queue: number, groups: readonly string[], { max, limits, busy }: Claim, now: number) {
    const room = { ...limits }
    for (let [left, isAgain] = [max, true]; isAgain; ) {
      isAgain = false
      const due = groups.flatMap(
        (group) => sql.all<Head>`SELECT n, due, grp FROM job
          WHERE queue = ${queue} AND state = 1 AND grp = ${group} AND due <= ${now}
          ORDER BY due, n LIMIT ${Math.max(0, Math.min(left, ownOf(room, group) ?? left))} + 0`,
      )
      due.sort((a, b) => a.due - b.due || a.n - b.n)
      for (const { n, grp } of due.slice(0, left)) {
        const chosen = busy ? merging.chosen(queue, n, busy) : n
        if (chosen === undefined) {
          isAgain = true
          continue
        }
        yield chosen
        left--
        const limit = ownOf(room, grp)
        if (limit !== undefined) room[grp] = limit - 1
      }
    }
  }

  /** The groups that have a head: one index step a group. */
  function groupsOf(queue: number): string[] {
    const rows = sql.all<{ name: string }>`WITH RECURSIVE g (name) AS (
        SELECT (SELECT min(grp) FROM job WHERE queue = ${queue} AND state = 1)
        UNION ALL SELECT (SELECT min(grp) FROM job WHERE queue = ${queue} AND state = 1 AND grp > g.name)
          FROM g WHERE g.name IS NOT NULL)
      SELECT name FROM g WHERE name IS NOT NULL`
    return rows.map(({ name }) => name)
  }

  function claimOne(n: number, until: number): ClaimedJob {
    const token = `${n}.${counters.add('claims', 1)}`
    // RETURNING would make a table for one row, and cost more than both statements.
    const row = sql.get<Running>`SELECT id, lane, grp, failures, lost, notify, message, message_id, data, errors, kept
      FROM job WHERE n = ${n}`
    if (!row) throw new Error(`job ${n} vanished while it was claimed`)
    sql.run`UPDATE job SET state = 2, until = ${until}, token = ${token} WHERE n = ${n}`
    const { failures, lost, errors } = row
    const job: ClaimedJob = Object.assign(toJob(row), { token, failures, lost, errors: JSON.parse(errors) })
    const message = messageOf(row)
    if (message) job.message = message
    return job
  }

  function messageOf(row: Running): Message | undefined {
    const known = fromJson(row.kept) ?? journal.takePumped(row.id)
    if (known) return known
    const message = row.message === null ? undefined : journal.at(row.message)
    return message?.id === row.message_id ? message : undefined
  }

  function nextDue(queue: number, groups: readonly string[], now: number): number | undefined {
    type Next = { due: number | null }
    const nextLost = sql.get<Next>`SELECT min(until) AS due FROM job WHERE queue = ${queue} AND state = 2`
    const nextHeads = groups.map(
      (group) => sql.get<Next>`SELECT min(due) AS due FROM job
        WHERE queue = ${queue} AND state = 1 AND grp = ${group} AND due > ${now}`,
    )
    const known = [nextLost, ...nextHeads].flatMap((row) => row?.due ?? [])
    return known.length === 0 ? undefined : Math.min(...known)
  }

  function settleOne(queue: number, name: string, outcome: Settled): boolean {
    const { id, token } = outcome
    const row = sql.get<Running>`SELECT n, id, lane, notify, message, message_id, errors, kept FROM job
      WHERE n = ${Number.parseInt(token, 10)} AND queue = ${queue} AND id = ${id} AND token = ${token}`
    if (!row) return false
    const now = parts.now()
    if (outcome.notes && row.message !== null) journal.addNotes(row.message, row.message_id, outcome.notes)
    const isBack = outcome.outcome === 'release' || outcome.outcome === 'retry'
    if (isBack) giveBack(row, outcome, now)
    const isNext = !isBack && end(queue, row, outcome, now)
    if (isBack || isNext) signals.raise(`jobs:${name}`)
    return true
  }

  function giveBack(row: Running, outcome: Settled & { outcome: 'release' | 'retry' }, now: number): void {
    const isRetry = outcome.outcome === 'retry'
    // Released without a delay the job keeps its due time, and so its place among the lanes.
    const due = isRetry || outcome.delay ? now + storable(outcome.delay ?? 0) : 0
    const errors = isRetry ? withError(row, outcome.error) : row.errors
    // A claim that ran out was counted as lost; its holder lives after all.
    sql.run`UPDATE job SET state = 1, due = max(due, ${due}), failures = failures + ${isRetry ? 1 : 0},
      errors = ${errors}, token = NULL, lost = lost - (state = 1) WHERE n = ${row.n}`
  }

  /** Removes a job and makes the oldest of its lane the head. False: there is none. */
  function end(queue: number, row: Running, outcome: Settled & { outcome: 'done' | 'dead' }, now: number) {
    const { n, id, lane } = row
    if (outcome.outcome === 'dead') bury(queue, row, outcome, now)
    sql.run`DELETE FROM job WHERE n = ${n}`
    const heads = sql.run`UPDATE job SET state = 1, due = max(due, ${now})
      WHERE n = (SELECT n FROM job WHERE queue = ${queue} AND lane = ${lane} ORDER BY n LIMIT 1)`
    counters.add(`jobs ${queue}`, -1)
    if (row.notify === 0) return heads > 0
    if (outcome.outcome === 'done')
      sql.run`INSERT OR REPLACE INTO done (queue, id, at, result)
        VALUES (${queue}, ${id}, ${now}, ${toJson(outcome.result)})`
    signals.raise(`job:${id}`)
    return heads > 0
  }

  function bury(queue: number, row: Running, outcome: Settled & { outcome: 'dead' }, now: number): void {
    // One may be left from an earlier life of that job.
    const replaced = sql.run`DELETE FROM dead WHERE queue = ${queue} AND id = ${row.id}`
    sql.run`INSERT INTO dead (queue, id, at, lane, grp, reason, notify, message_id, data, errors, kept)
      SELECT queue, id, ${now}, lane, grp, ${outcome.reason}, notify, message_id, data,
        ${withError(row, outcome.error)}, ${toJson(messageOf(row))} FROM job WHERE n = ${row.n}`
    counters.add(`dead ${queue}`, 1 - replaced)
  }

  return {
    claim: (queue, request) => {
      const number = queues.find(queue)
      if (number === undefined) return Promise.resolve({ jobs: [] })
      // A claim that is undone is made again; what came of it is flushed with its outcome.
      return writer.writeRepeatable(() => claim(number, request))
    },
    follow: (queue, one) => writer.write(() => merging.follow(queues.find(queue) ?? 0, one)),
    settle: (queue, outcomes) =>
      writer.write(() => outcomes.map((outcome) => settleOne(queues.find(queue) ?? 0, queue, outcome))),
    renew: (queue, claims, lease) =>
      writer.writeRepeatable(() => {
        const until = parts.now() + storable(lease)
        const number = queues.find(queue) ?? 0
        return claims.map(
          ({ id, token }) =>
            sql.run`UPDATE job SET state = 2, until = ${until}, lost = lost - (state = 1)
              WHERE n = ${Number.parseInt(token, 10)} AND queue = ${number} AND id = ${id} AND token = ${token}` >
            0,
        )
      }),
  }
}

function withError({ errors }: JobRow, error: AttemptError): string {
  return JSON.stringify([...JSON.parse(errors), error])
}
