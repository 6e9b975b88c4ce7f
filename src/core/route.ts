import type { JsonObject } from './json.ts'
import type { RouteMatch } from './match.ts'
import { MINUTE } from './units.ts'

/**
 * A route with its defaults. The first route whose `match` fits handles a message. It has one
 * target: `skill`, `queue`, or `bolt`, the absolute path of a Bolt app. Times in ms.
 */
export type Route = {
  name: string
  match: RouteMatch
  /** Takes only messages that no other route takes. */
  fallback?: boolean
  skill?: string
  queue?: string
  bolt?: string
  args?: JsonObject
  retry: { attempts: number; backoff: 'exponential' | 'fixed'; delay: number; maxDelay: number }
  timeout: number
  /** See `concurrencyOf`. */
  concurrency?: number
  order?: 'conversation' | 'none'
  reply: 'auto' | 'none'
  'on-failure'?: string
  model?: string
  approval?: boolean | ApprovalSettings
  'while-busy'?: 'queue' | 'collect' | 'latest' | 'steer'
  /** See `BusyLane`. */
  settle?: number
}

/** The `approval` of a skill or route as configured, without defaults. `timeout` in ms. */
export type ApprovalSettings = {
  /** The question, with arguments in braces. */
  title?: string
  /** Identities and roles that may decide, besides operators. */
  approvers?: string[]
  timeout?: number
  'on-timeout'?: 'deny' | 'approve'
}

/** The settings of a route that names none. Times in ms. */
export const ROUTE_DEFAULTS = {
  retry: { attempts: 5, backoff: 'exponential', delay: 1_000, maxDelay: 5 * MINUTE },
  timeout: MINUTE,
  reply: 'auto',
} as const satisfies Pick<Route, 'retry' | 'timeout' | 'reply'>

const DEFAULT_CONCURRENCY = 16
/**
 * Higher for Bolt apps: their listeners mostly wait for I/O, and urgent events (modals, commands)
 * must not queue behind them.
 */
const BOLT_CONCURRENCY = 1000

/**
 * Maximum concurrent invocations of a route per process: `concurrency` if set, else 1,000 for Bolt
 * apps and 16 for others.
 */
export function concurrencyOf({ concurrency, bolt }: Pick<Route, 'concurrency' | 'bolt'>): number {
  return concurrency ?? (bolt === undefined ? DEFAULT_CONCURRENCY : BOLT_CONCURRENCY)
}
