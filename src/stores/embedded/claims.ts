import type { AttemptError, Claim, ClaimedJob, ClaimedJobs, Jobs, Settled } from '../../core/store.ts'
import { errorsOf, type JobRows, keptMessage, toJob } from './job-rows.ts'
import type { JournalTable } from './journal.ts'
import type { Parts } from './parts.ts'
import { int, maybeInt, maybeText, prepareAll, type Row, text } from './sql.ts'

const HEAD = 1

/** Claiming jobs at the heads of lanes, and ending claims. A token is `n.serial`. */
export function createClaims(
  parts: Parts,
  rows: JobRows,
  journal: JournalTable,
): Pick<Jobs, 'claim' | 'settle' | 'renew'> {
  const { db, writer, counters, queues, signals } = parts
  const sql = prepareAll(db, 'jobs.sql')
  const [lose, groups, heads, take, held] = [
    sql('lose'),
    sql('groups'),
    sql('heads'),
    sql('claim'),
    sql('held'),
  ]
  sql('abandon').run(parts.now())

  function claim(queue: number, request: Claim): ClaimedJobs {
    const now = parts.now()
    lose.run(queue, now)
    const names = groups.all(queue).map((row) => text(row.name))
    const due = names.flatMap((name) => heads.all(queue, name, now, capOf(request, name)))
    due.sort((a, b) => int(a.due) - int(b.due) || int(a.n) - int(b.n))
    const jobs = due.slice(0, request.max).map((row) => claimOne(int(row.n), now + request.lease))
    const next = nextDue(queue, names, now)
    return next === undefined ? { jobs } : { jobs, nextDue: next }
  }

  function claimOne(n: number, until: number): ClaimedJob {
    const token = `${n}.${counters.add('claims', 1)}`
    const row = take.get(until, token, n)
    if (!row) throw new Error(`job ${n} vanished while it was claimed`)
    const job: ClaimedJob = Object.assign(toJob(row), {
      token,
      failures: int(row.failures),
      lost: int(row.lost),
      errors: errorsOf(row),
    })
    const notBefore = maybeInt(row.not_before)
    if (notBefore !== undefined) job.notBefore = notBefore
    const message = messageOf(row)
    if (message) job.message = message
    return job
  }

  function messageOf(row: Row) {
    const kept = keptMessage(row)
    if (kept) return kept
    const seq = maybeInt(row.message)
    const message = seq === undefined ? undefined : journal.at(seq)
    return message?.id === row.message_id ? message : undefined
  }

  function nextDue(queue: number, names: readonly string[], now: number): number | undefined {
    const times = names.map((name) => maybeInt(sql('nextHead').get(queue, name, now)?.due))
    times.push(maybeInt(sql('nextLost').get(queue)?.due))
    const known = times.filter((time) => time !== undefined)
    return known.length === 0 ? undefined : Math.min(...known)
  }

  function settleOne(queue: number, name: string, outcome: Settled): boolean {
    const row = held.get(serialOf(outcome.token), queue, outcome.id, outcome.token)
    if (!row) return false
    const now = parts.now()
    const n = int(row.n)
    // A claim that ran out was counted as lost; its holder lives after all.
    const found = int(row.state) === HEAD ? 1 : 0
    note(row, outcome)
    if (outcome.outcome === 'release' || outcome.outcome === 'retry') {
      if (outcome.outcome === 'release') sql('release').run(outcome.delay ? now + outcome.delay : 0, found, n)
      else sql('retry').run(now + outcome.delay, withError(row, outcome.error), found, n)
      signals.raise(`jobs:${name}`)
      return true
    }
    rows.remove(queue, name, n, text(row.lane))
    if (outcome.outcome === 'dead') bury(queue, row, outcome, now)
    else if (int(row.notify) === 1) {
      const result = outcome.result === undefined ? null : JSON.stringify(outcome.result)
      sql('finish').run(queue, outcome.id, now, result)
    }
    if (int(row.notify) === 1) signals.raise(`job:${outcome.id}`)
    return true
  }

  function note(row: Row, { notes }: Settled): void {
    const seq = maybeInt(row.message)
    if (!notes || notes.length === 0 || seq === undefined) return
    if (journal.find(text(row.message_id)) === seq) journal.addNotes(seq, notes)
  }

  function bury(queue: number, row: Row, outcome: Settled & { outcome: 'dead' }, now: number): void {
    const message = messageOf(row)
    if (sql('unbury').run(queue, outcome.id).changes > 0) counters.add(`dead ${queue}`, -1)
    sql('bury').run(
      queue,
      outcome.id,
      now,
      text(row.lane),
      text(row.grp),
      outcome.reason,
      int(row.notify),
      maybeText(row.message_id) ?? null,
      maybeText(row.data) ?? null,
      withError(row, outcome.error),
      message ? JSON.stringify(message) : null,
    )
    counters.add(`dead ${queue}`, 1)
  }

  return {
    claim: (queue, request) => {
      const number = queues.find(queue)
      if (number === undefined) return Promise.resolve({ jobs: [] })
      // A claim that is undone is made again; what came of it is flushed with its outcome.
      return writer.writeRepeatable(() => claim(number, request))
    },
    settle: (queue, outcomes) =>
      writer.write(() => {
        const number = queues.find(queue)
        return outcomes.map((outcome) => number !== undefined && settleOne(number, queue, outcome))
      }),
    renew: (queue, claims, lease) =>
      writer.writeRepeatable(() => {
        const until = parts.now() + lease
        const number = queues.find(queue) ?? 0
        return claims.map(
          ({ id, token }) => sql('renew').run(until, serialOf(token), number, id, token).changes > 0,
        )
      }),
  }
}

function withError(row: Row, error: AttemptError): string {
  return JSON.stringify([...errorsOf(row), error])
}

function capOf({ max, limits }: Claim, group: string): number {
  const limit = limits && Object.hasOwn(limits, group) ? limits[group] : undefined
  return Math.max(0, Math.min(max, limit ?? max))
}

/** The row in a token; 0 for a text that is no token. */
function serialOf(token: string): number {
  const [, n = '0'] = /^(\d{1,15})\.\d+$/.exec(token) ?? []
  return Number(n)
}
