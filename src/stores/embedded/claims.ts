import type { Claim, ClaimedJob, ClaimedJobs, DeadLetters, Jobs } from '../../core/store.ts'
import { storable } from '../shared/values.ts'
import { createBurying } from './burying.ts'
import { createHeads } from './claim-heads.ts'
import { createClaimedRows } from './claimed-rows.ts'
import { type Claimed, jobNumberOf, type Running } from './job-rows.ts'
import type { JournalTable } from './journal.ts'
import { createMerging } from './merge.ts'
import type { Parts } from './parts.ts'
import { createSettling } from './settling.ts'
import { readPage } from './sql.ts'

/** `forget`: drops what is cached of a removed job. */
type Claims = Pick<Jobs, 'claim' | 'mergeFollowing' | 'settle' | 'renew' | 'bury'> &
  Pick<DeadLetters, 'undoRetry'> & { forget(n: number): void }

/**
 * Claims of the heads of lanes. In each lane only the job with the lowest n may be in state 1 or 2
 * (FIFO); see `STATE`.
 */
export function createClaims(parts: Parts, journal: JournalTable): Claims {
  const { sql, writer, counters, queues } = parts
  const merging = createMerging(parts, journal)
  const heads = createHeads(parts, merging)
  /**
   * Jobs claimed by this process, by number, which need not be read again. A cache: entries may be
   * missing.
   */
  const claimed = new Map<number, Claimed>()
  writer.follow({ rolledBack: () => claimed.clear() })
  const rows = createClaimedRows(journal, claimed)
  const messageOf = (row: Running) => rows.readMessage(row).message
  const settle = createSettling(parts, journal, claimed, messageOf)
  const { bury, undoRetry } = createBurying(parts, journal, messageOf)
  // Existing claims belong to the previous process, which is dead.
  sql.run`UPDATE job SET until = min(until, ${parts.now()}) WHERE state = 2`

  function claim(queue: number, request: Claim): ClaimedJobs {
    const now = parts.now()
    // The token of an expired claim is valid until the next claim: a live holder may still settle.
    sql.run`UPDATE job SET state = 1, due = until, lost = lost + 1
      WHERE queue = ${queue} AND state = 2 AND until <= ${now}`
    const groups = heads.groups(queue)
    const until = now + storable(request.lease)
    // A call claims each job once, so all its tokens can have the same serial number.
    const serial = counters.add('claims', 1)
    const take = (row: Running) => rows.toClaimed(queue, row, `${row.n}.${serial}`)
    const [only = '', ...others] = groups
    let items: ClaimedJob[]
    if (request.busy || others.length > 0) {
      const takeNow = (n: number) => {
        const job = take(rowOf(n))
        hold([n], until, serial)
        return job
      }
      items = takeSome(heads.ofGroups(queue, groups, request, now), takeNow)
    } else {
      items = takeSome(heads.ofGroup(queue, only, request, now), take)
      hold(
        items.map(({ token }) => jobNumberOf(token)),
        until,
        serial,
      )
    }
    return { items, ...heads.next(queue, groups, now) }
  }

  function hold(numbers: readonly number[], until: number, serial: number): void {
    if (numbers.length === 0) return
    sql.run`UPDATE job SET state = 2, until = ${until}, token = n || ${`.${serial}`}
      WHERE n IN (SELECT value FROM json_each(${JSON.stringify(numbers)}))`
  }

  function rowOf(n: number): Running {
    const row = sql.get<Running>`SELECT n, id, lane, grp, failures, lost, notify, message, message_id, data, errors, kept
      FROM job WHERE n = ${n}`
    if (!row) throw new Error(`job ${n} vanished while it was claimed`)
    return row
  }

  return {
    forget: (n) => void claimed.delete(n),
    claim: (queue, request) => {
      const number = queues.find(queue)
      if (number === undefined) return Promise.resolve({ items: [], more: false })
      // A lost claim is repeated, and its effects are flushed with the outcome.
      return writer.writeRepeatable(() => claim(number, request))
    },
    mergeFollowing: (queue, one) => writer.write(() => merging.mergeFollowing(queues.find(queue) ?? 0, one)),
    bury: (queue, id, end) => writer.write(() => bury(queues.find(queue) ?? 0, queue, id, end)),
    undoRetry: (id, queue, undo) => writer.write(() => undoRetry(queues.find(queue) ?? 0, queue, id, undo)),
    settle: (queue, outcomes) => writer.write(() => settle(queues.find(queue) ?? 0, queue, outcomes)),
    renew: (queue, claims, lease) =>
      writer.writeRepeatable(() => renewAll(parts, queues.find(queue) ?? 0, claims, lease)),
  }
}

/** Returns for each claim whether it was still valid. */
function renewAll(
  { sql, now }: Parts,
  queue: number,
  claims: Parameters<Jobs['renew']>[1],
  lease: number,
): boolean[] {
  const until = now() + storable(lease)
  return claims.map(
    ({ id, token }) =>
      // State 1 (head): the claim has expired, and was counted as lost.
      sql.run`UPDATE job SET state = 2, until = ${until}, lost = lost - (state = 1)
        WHERE n = ${jobNumberOf(token)} AND queue = ${queue} AND id = ${id} AND token = ${token}` > 0,
  )
}

/** The jobs of these rows; fewer if their messages are large. */
function takeSome<Row>(rows: Iterable<Row>, take: (row: Row) => ClaimedJob): ClaimedJob[] {
  return readPage(rows, Number.POSITIVE_INFINITY, take, ({ message }) => message?.text).items
}
