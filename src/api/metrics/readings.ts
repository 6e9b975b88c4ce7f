import type { BudgetStatus } from '../../core/budget.ts'
import type { GroupInfo, StoreStats, Waiting } from '../../core/store.ts'
import type { Health } from '../../core/transport.ts'
import type { Trouble } from '../../core/trouble.ts'
import type { RunningReading } from '../../features/troubles/readings.ts'

/** Values read when metrics are requested. */
export type Readings = {
  reload: LastReload
  gateways: readonly ({ name: string } & Health)[]
  /** Running work in this daemon, with its start (Unix ms). */
  running: readonly Omit<RunningReading, 'count'>[]
  takesWrites: boolean
  troubles: readonly Pick<Trouble, 'code'>[]
  /** Undefined if the store is unreachable. */
  stored: Stored | undefined
}

/** The part that comes from the store. */
export type Stored = {
  stats: StoreStats
  groups: readonly GroupInfo[]
  subscriptions: readonly { name: string; ok: boolean }[]
  waiting: readonly Waiting[]
  budgets: readonly BudgetStatus[]
  /** Number of dead letters of test messages, by queue. */
  tests: ReadonlyMap<string, number>
}

/** Result of the last configuration load; `at` and `goodAt` (last success) are Unix ms. */
export type LastReload = { ok: boolean; at: number; goodAt: number; error?: string }
