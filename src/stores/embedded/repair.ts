import type { DatabaseSync } from 'node:sqlite'
import type { Log } from '../../core/log.ts'
import { TEN_YEARS } from '../../core/units.ts'

/**
 * Columns with times computed from a caller's duration. With `to: now`, the entry becomes visible
 * again; with `later`, it must still expire.
 */
const TIMES = [
  { table: 'leased', column: 'until', to: 'now' },
  { table: 'pending', column: 'hidden_until', to: 'now' },
  { table: 'job', column: 'due', to: 'now' },
  { table: 'job', column: 'until', to: 'now' },
  { table: 'kv', column: 'expires', to: 'later' },
] as const

/**
 * Repairs times beyond the longest duration. Earlier versions stored them, and numbers above 2^53
 * cannot be read (`ERR_OUT_OF_RANGE`), so that one such lease broke every later read. Called once
 * the database is open.
 */
export function repairTimes(db: DatabaseSync, now: number, log: Log): void {
  const latest = now + TEN_YEARS
  for (const { table, column, to } of TIMES) {
    const time = to === 'now' ? now : latest
    const { changes } = db.prepare(`UPDATE ${table} SET ${column} = ? WHERE ${column} > ?`).run(time, latest)
    if (changes > 0)
      log.warn({ table, column, rows: Number(changes) }, 'times too far in the future were corrected')
  }
}
