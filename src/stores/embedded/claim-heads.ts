import type { Claim } from '../../core/store.ts'
import { ownOf } from '../shared/values.ts'
import type { Running } from './job-rows.ts'
import type { createMerging } from './merge.ts'
import type { Parts } from './parts.ts'

type Head = { n: number; due: number; grp: string }
type Due = { due: number | null }

/** Finds the heads of lanes that may be claimed. All synchronous. */
export function createHeads({ sql }: Parts, merging: ReturnType<typeof createMerging>) {
  /** The first heads of one group, by when they are due, within its limit. */
  const firstOf = (queue: number, group: string, now: number, limit: number) =>
    sql.all<Head>`SELECT n, due, grp FROM job
      WHERE queue = ${queue} AND state = 1 AND grp = ${group} AND due <= ${now}
      ORDER BY due, n LIMIT ${Math.max(0, limit)} + 0`

  return {
    /** The groups with a head. Costs one index step per group. */
    groups(queue: number): string[] {
      const rows = sql.all<{ name: string }>`WITH RECURSIVE g (name) AS (
          SELECT (SELECT min(grp) FROM job WHERE queue = ${queue} AND state = 1)
          UNION ALL SELECT (SELECT min(grp) FROM job WHERE queue = ${queue} AND state = 1 AND grp > g.name)
            FROM g WHERE g.name IS NOT NULL)
        SELECT name FROM g WHERE name IS NOT NULL`
      return rows.map(({ name }) => name)
    },

    /**
     * The heads of one group as complete rows, longest due first. Used if only one group has heads,
     * as in dispatch with a single route.
     */
    ofGroup: (queue: number, group: string, { max, limits = {} }: Claim, now: number) =>
      sql.iterate<Running>`SELECT n, id, lane, grp, failures, lost, notify, message, message_id, data, errors, kept
        FROM job WHERE queue = ${queue} AND state = 1 AND grp = ${group} AND due <= ${now}
        ORDER BY due, n LIMIT ${Math.max(0, Math.min(max, ownOf(limits, group) ?? max))} + 0`,

    /**
     * Yields the jobs to claim from several groups. The caller claims each before it asks for the
     * next. Heads that wait to settle are skipped.
     */
    *ofGroups(queue: number, groups: readonly string[], { max, limits, busy }: Claim, now: number) {
      const room = { ...limits }
      let left = max
      let hasWaiting = true
      while (hasWaiting) {
        hasWaiting = false
        const due = groups.flatMap((group) =>
          firstOf(queue, group, now, Math.min(left, ownOf(room, group) ?? left)),
        )
        due.sort((a, b) => a.due - b.due || a.n - b.n)
        for (const { n, grp } of due.slice(0, left)) {
          const chosen = busy ? merging.chosen(queue, n, busy) : n
          if (chosen === undefined) {
            hasWaiting = true
            continue
          }
          yield chosen
          left--
          const limit = ownOf(room, grp)
          if (limit !== undefined) room[grp] = limit - 1
        }
      }
    },

    /** Whether another head is due now, and when the next head is due or the next claim expires. */
    next(queue: number, groups: readonly string[], now: number): { more: boolean; nextDue?: number } {
      const lost = sql.get<Due>`SELECT min(until) AS due FROM job WHERE queue = ${queue} AND state = 2`
      let more = false
      const times = [lost?.due ?? Number.POSITIVE_INFINITY]
      for (const group of groups) {
        let due = sql.get<Due>`SELECT min(due) AS due FROM job
          WHERE queue = ${queue} AND state = 1 AND grp = ${group}`?.due
        if (due != null && due <= now) {
          more = true
          due = sql.get<Due>`SELECT min(due) AS due FROM job
            WHERE queue = ${queue} AND state = 1 AND grp = ${group} AND due > ${now}`?.due
        }
        times.push(due ?? Number.POSITIVE_INFINITY)
      }
      const nextDue = Math.min(...times)
      return Number.isFinite(nextDue) ? { more, nextDue } : { more }
    },
  }
}
