import type { AttemptError, Claim, ClaimedJob, ClaimedJobs, Jobs, Settled } from '../../core/store.ts'
import { ownOf } from '../shared/values.ts'
import { errorsOf, keptMessage, toJob } from './job-rows.ts'
import type { JournalTable } from './journal.ts'
import type { Parts } from './parts.ts'
import { int, maybeInt, type Row, readSome, text, toJson } from './sql.ts'

/** The groups that have a head: one index step a group. */
const GROUPS = `WITH RECURSIVE g (name) AS (
    SELECT (SELECT min(grp) FROM job WHERE queue = ?1 AND state = 1)
    UNION ALL
    SELECT (SELECT min(grp) FROM job WHERE queue = ?1 AND state = 1 AND grp > g.name) FROM g WHERE g.name IS NOT NULL
  )
  SELECT name FROM g WHERE name IS NOT NULL`

/**
 * Claiming jobs at the heads of lanes, and ending claims. Within a lane only the job with the lowest n is ever in state
 * 1 or 2; that is what makes lanes first in, first out. A token is `n.serial`.
 */
export function createClaims(parts: Parts, journal: JournalTable): Pick<Jobs, 'claim' | 'settle' | 'renew'> {
  const { sql, writer, counters, queues, signals } = parts
  // Whoever held claims was the process before this one, and is dead.
  sql('UPDATE job SET until = min(until, ?) WHERE state = 2').run(parts.now())

  function claim(queue: number, request: Claim): ClaimedJobs {
    const now = parts.now()
    // The token of a claim that ran out stays until another claims: a holder that lives may still settle.
    sql(`UPDATE job SET state = 1, due = until, lost = lost + 1
      WHERE queue = ? AND state = 2 AND until <= ?`).run(queue, now)
    const heads = sql(`SELECT n, due FROM job WHERE queue = ? AND state = 1 AND grp = ? AND due <= ?
      ORDER BY due, n LIMIT ? + 0`)
    const groups = sql(GROUPS)
      .all(queue)
      .map((row) => text(row.name))
    const due = groups.flatMap((group) => heads.all(queue, group, now, capOf(request, group)))
    due.sort((a, b) => int(a.due) - int(b.due) || int(a.n) - int(b.n))
    const claimRow = (row: Row) => claimOne(int(row.n), now + request.lease)
    const { found: jobs } = readSome(due.slice(0, request.max), claimRow, ({ message }) => message?.text)
    const next = nextDue(queue, groups, now)
    return next === undefined ? { jobs } : { jobs, nextDue: next }
  }

  function claimOne(n: number, until: number): ClaimedJob {
    const token = `${n}.${counters.add('claims', 1)}`
    // RETURNING would make a table for one row, and cost more than both statements.
    const row = sql(
      'SELECT id, lane, grp, failures, lost, notify, message, message_id, data, errors, kept FROM job WHERE n = ?',
    ).get(n)
    if (!row) throw new Error(`job ${n} vanished while it was claimed`)
    sql('UPDATE job SET state = 2, until = ?, token = ? WHERE n = ?').run(until, token, n)
    const job: ClaimedJob = Object.assign(toJob(row), {
      token,
      failures: int(row.failures),
      lost: int(row.lost),
      errors: errorsOf(row),
    })
    const message = messageOf(row)
    if (message) job.message = message
    return job
  }

  function messageOf(row: Row) {
    const known = keptMessage(row) ?? journal.takePumped(text(row.id))
    if (known) return known
    const seq = maybeInt(row.message)
    const message = seq === undefined ? undefined : journal.at(seq)
    return message?.id === row.message_id ? message : undefined
  }

  function nextDue(queue: number, groups: readonly string[], now: number): number | undefined {
    const nextHead = sql(
      'SELECT min(due) AS due FROM job WHERE queue = ? AND state = 1 AND grp = ? AND due > ?',
    )
    const nextLost = sql('SELECT min(until) AS due FROM job WHERE queue = ? AND state = 2')
    const times = [...groups.map((group) => nextHead.get(queue, group, now)), nextLost.get(queue)]
    const known = times.map((row) => maybeInt(row?.due)).filter((time) => time !== undefined)
    return known.length === 0 ? undefined : Math.min(...known)
  }

  function settleOne(queue: number, name: string, outcome: Settled): boolean {
    const row = sql(`SELECT n, id, lane, notify, message, message_id, errors, kept
      FROM job WHERE n = ? AND queue = ? AND id = ? AND token = ?`).get(
      serialOf(outcome.token),
      queue,
      outcome.id,
      outcome.token,
    )
    if (!row) return false
    const now = parts.now()
    const seq = maybeInt(row.message)
    if (outcome.notes && seq !== undefined) journal.addNotes(seq, text(row.message_id), outcome.notes)
    if (outcome.outcome === 'release' || outcome.outcome === 'retry') giveBack(row, outcome, now)
    else end(queue, row, outcome, now)
    signals.raise(`jobs:${name}`)
    return true
  }

  function giveBack(row: Row, outcome: Settled & { outcome: 'release' | 'retry' }, now: number): void {
    const isRetry = outcome.outcome === 'retry'
    // Released without a delay the job keeps its due time, and so its place among the lanes.
    const due = isRetry || outcome.delay ? now + (outcome.delay ?? 0) : 0
    const errors = isRetry ? withError(row, outcome.error) : text(row.errors)
    // A claim that ran out was counted as lost; its holder lives after all.
    sql(`UPDATE job SET state = 1, due = max(due, ?), failures = failures + ?, errors = ?, token = NULL,
      lost = lost - (state = 1) WHERE n = ?`).run(due, isRetry ? 1 : 0, errors, int(row.n))
  }

  /** Removes a job and makes the oldest of its lane the head. */
  function end(queue: number, row: Row, outcome: Settled & { outcome: 'done' | 'dead' }, now: number): void {
    if (outcome.outcome === 'dead') bury(queue, row, outcome, now)
    sql('DELETE FROM job WHERE n = ?').run(int(row.n))
    sql(`UPDATE job SET state = 1, due = max(due, ?3)
      WHERE n = (SELECT n FROM job WHERE queue = ?1 AND lane = ?2 ORDER BY n LIMIT 1)`).run(
      queue,
      text(row.lane),
      now,
    )
    counters.add(`jobs ${queue}`, -1)
    const notify = int(row.notify) === 1
    if (notify && outcome.outcome === 'done') {
      const insert = sql('INSERT OR REPLACE INTO done (queue, id, at, result) VALUES (?, ?, ?, ?)')
      insert.run(queue, outcome.id, now, toJson(outcome.result))
    }
    if (notify) signals.raise(`job:${outcome.id}`)
  }

  function bury(queue: number, row: Row, outcome: Settled & { outcome: 'dead' }, now: number): void {
    // One may be left from an earlier life of that job.
    const { changes } = sql('DELETE FROM dead WHERE queue = ? AND id = ?').run(queue, outcome.id)
    sql(`INSERT INTO dead (queue, id, at, lane, grp, reason, notify, message_id, data, errors, kept)
      SELECT queue, id, ?, lane, grp, ?, notify, message_id, data, ?, ? FROM job WHERE n = ?`).run(
      now,
      outcome.reason,
      withError(row, outcome.error),
      toJson(messageOf(row)),
      int(row.n),
    )
    counters.add(`dead ${queue}`, 1 - Number(changes))
  }

  return {
    claim: (queue, request) => {
      const number = queues.find(queue)
      if (number === undefined) return Promise.resolve({ jobs: [] })
      // A claim that is undone is made again; what came of it is flushed with its outcome.
      return writer.writeRepeatable(() => claim(number, request))
    },
    settle: (queue, outcomes) =>
      writer.write(() => outcomes.map((outcome) => settleOne(queues.find(queue) ?? 0, queue, outcome))),
    renew: (queue, claims, lease) =>
      writer.writeRepeatable(() => {
        const until = parts.now() + lease
        const number = queues.find(queue) ?? 0
        const renew = sql(`UPDATE job SET state = 2, until = ?, lost = lost - (state = 1)
          WHERE n = ? AND queue = ? AND id = ? AND token = ?`)
        return claims.map(({ id, token }) => renew.run(until, serialOf(token), number, id, token).changes > 0)
      }),
  }
}

function withError(row: Row, error: AttemptError): string {
  return JSON.stringify([...errorsOf(row), error])
}

function capOf({ max, limits }: Claim, group: string): number {
  return Math.max(0, Math.min(max, ownOf(limits ?? {}, group) ?? max))
}

/** The row in a token; 0 for a text that is no token. */
function serialOf(token: string): number {
  const [, n = '0'] = /^(\d{1,15})\.\d+$/.exec(token) ?? []
  return Number(n)
}
