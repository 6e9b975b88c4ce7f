import type { Message } from '../../core/message.ts'
import type { Claim, ClaimedJob, ClaimedJobs, Jobs } from '../../core/store.ts'
import { ownOf, storable } from '../shared/values.ts'
import { type Claimed, type Running, toJob } from './job-rows.ts'
import type { JournalTable } from './journal.ts'
import { createMerging } from './merge.ts'
import type { Parts } from './parts.ts'
import { createSettling } from './settling.ts'
import { fromJson, readSome } from './sql.ts'

type Head = { n: number; due: number; grp: string }

/** Claims of the heads of lanes. In each lane only the job with the lowest n may be in state 1 or 2 (FIFO). A token is `n.serial`. */
export function createClaims(
  parts: Parts,
  journal: JournalTable,
): Pick<Jobs, 'claim' | 'follow' | 'settle' | 'renew'> {
  const { sql, writer, counters, queues } = parts
  const merging = createMerging(parts, journal)
  /** Jobs claimed by this process, by number, which need not be read again. A cache: entries may be missing. */
  const claimed = new Map<number, Claimed>()
  writer.follow({ rolledBack: () => claimed.clear() })
  const settle = createSettling(parts, journal, claimed, (row) => readMessage(row).message)
  // Existing claims belong to the previous process, which is dead.
  sql.run`UPDATE job SET until = min(until, ${parts.now()}) WHERE state = 2`

  function claim(queue: number, request: Claim): ClaimedJobs {
    const now = parts.now()
    // The token of an expired claim is valid until the next claim: a live holder may still settle.
    sql.run`UPDATE job SET state = 1, due = until, lost = lost + 1
      WHERE queue = ${queue} AND state = 2 AND until <= ${now}`
    const groups = groupsOf(queue)
    const until = now + storable(request.lease)
    // A claim takes each job once, so one serial number serves all its tokens.
    const serial = counters.add('claims', 1)
    const take = (row: Running) => toClaimed(queue, row, `${row.n}.${serial}`)
    const textOf = ({ message }: ClaimedJob) => message?.text
    const [only = '', ...others] = groups
    let jobs: ClaimedJob[]
    if (request.busy || others.length > 0) {
      const takeNow = (n: number) => {
        const job = take(rowOf(n))
        hold([n], until, serial)
        return job
      }
      jobs = readSome(claimable(queue, groups, request, now), takeNow, textOf).found
    } else {
      jobs = readSome(headsOf(queue, only, request, now), take, textOf).found
      hold(
        jobs.map(({ token }) => Number.parseInt(token, 10)),
        until,
        serial,
      )
    }
    const next = nextDue(queue, groups, now)
    return next === undefined ? { jobs } : { jobs, nextDue: next }
  }

  /** The heads of a group, longest due first. */
  const headsOf = (queue: number, group: string, { max, limits = {} }: Claim, now: number) =>
    sql.iterate<Running>`SELECT n, id, lane, grp, failures, lost, notify, message, message_id, data, errors, kept
      FROM job WHERE queue = ${queue} AND state = 1 AND grp = ${group} AND due <= ${now}
      ORDER BY due, n LIMIT ${Math.max(0, Math.min(max, ownOf(limits, group) ?? max))} + 0`

  function hold(rows: readonly number[], until: number, serial: number): void {
    if (rows.length === 0) return
    sql.run`UPDATE job SET state = 2, until = ${until}, token = n || ${`.${serial}`}
      WHERE n IN (SELECT value FROM json_each(${JSON.stringify(rows)}))`
  }

  /** The rows to claim; the caller claims each before it asks for the next. Replaces rows whose lane still waits to settle. */
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

  /** The groups with a head, at one index step each. */
  function groupsOf(queue: number): string[] {
    const rows = sql.all<{ name: string }>`WITH RECURSIVE g (name) AS (
        SELECT (SELECT min(grp) FROM job WHERE queue = ${queue} AND state = 1)
        UNION ALL SELECT (SELECT min(grp) FROM job WHERE queue = ${queue} AND state = 1 AND grp > g.name)
          FROM g WHERE g.name IS NOT NULL)
      SELECT name FROM g WHERE name IS NOT NULL`
    return rows.map(({ name }) => name)
  }

  function rowOf(n: number): Running {
    const row = sql.get<Running>`SELECT n, id, lane, grp, failures, lost, notify, message, message_id, data, errors, kept
      FROM job WHERE n = ${n}`
    if (!row) throw new Error(`job ${n} vanished while it was claimed`)
    return row
  }

  function toClaimed(queue: number, row: Running, token: string): ClaimedJob {
    const job: ClaimedJob = Object.assign(toJob(row), { token }, triedOf(row))
    const { message, isInJournal } = readMessage(row)
    if (message) job.message = message
    claimed.set(row.n, { token, queue, row, isInJournal })
    return job
  }

  function readMessage(row: Running): { message: Message | undefined; isInJournal: boolean } {
    const kept = fromJson(row.kept)
    if (kept) return { message: kept, isInJournal: false }
    const pumped = journal.takePumped(row.id)
    if (pumped) return { message: pumped, isInJournal: true }
    const found = row.message === null ? undefined : journal.at(row.message)
    const message = found?.id === row.message_id ? found : undefined
    return { message, isInJournal: message !== undefined }
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

  return {
    claim: (queue, request) => {
      const number = queues.find(queue)
      if (number === undefined) return Promise.resolve({ jobs: [] })
      // A lost claim is repeated, and its effects are flushed with the outcome.
      return writer.writeRepeatable(() => claim(number, request))
    },
    follow: (queue, one) => writer.write(() => merging.follow(queues.find(queue) ?? 0, one)),
    settle: (queue, outcomes) => writer.write(() => settle(queues.find(queue) ?? 0, queue, outcomes)),
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

/** What is known of earlier attempts. */
function triedOf({ failures, lost, errors, kept }: Running) {
  return { failures, lost, errors: errors === '[]' ? [] : JSON.parse(errors), requeued: kept !== null }
}
