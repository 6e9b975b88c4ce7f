import type { Approval } from '../../core/approval.ts'
import type { BudgetStatus } from '../../core/budget.ts'
import type { Message } from '../../core/message.ts'
import type { GroupInfo, StoreStats, Waiting } from '../../core/store.ts'
import type { SubscriptionInfo } from '../../core/subscription-info.ts'
import type { Health } from '../../core/transport.ts'
import type { LastRead } from '../../engine/group-last-reads.ts'
import type { LetterGroup } from '../../engine/letter-groups.ts'
import type { WaitingSender } from '../../engine/letter-people.ts'
import type { Pull } from '../../engine/pulls.ts'
import type { RefusalCount } from '../../engine/refusal-tally.ts'
import type { UnroutedCount } from '../../engine/unrouted-tally.ts'
import type { SecretsOf } from './secret-places.ts'

/** The inputs of the list of troubles. Times are Unix ms. */
export type TroubleReadings = {
  /** Whether the store accepts writes, or why not. */
  store: { ok: boolean; reason?: string | undefined; address: string }
  /** The file system of the data directory, in bytes; undefined if unknown. */
  disk: { free: number; size: number; dir: string } | undefined
  /** Whether the daemon is stopping. */
  draining: boolean
  /** `at`: the last reload. `goodAt`: the last successful one. */
  configuration: { ok: boolean; at: number; goodAt: number; error?: string }
  /** Where the secrets of gateways are configured. */
  secretsOf?: SecretsOf
  /** The health of gateways, Redis queues and MCP servers. */
  gateways: readonly ({ name: string } & Health)[]
  queues: readonly { name: string; ok: boolean; detail?: string | undefined }[]
  mcp: readonly { name: string; ok: boolean; detail: string }[]
  /** Skills that cannot be loaded. */
  broken: readonly { name: string; reason: string }[]
  /** Running attempts in this daemon. */
  running: readonly RunningReading[]
  refusals: readonly RefusalCount[]
  pauses: readonly PauseReading[]
  /** Start of the pause after a restore (Unix ms). */
  storePausedSince?: number | undefined
  /** Messages without a route, by gateway. */
  unrouted: readonly UnroutedCount[]
  /** Undefined while the store cannot be read. */
  stored: StoredReadings | undefined
}

/** The running attempts for a gateway on a road. */
export type RunningReading = {
  road: string
  gateway: string
  /** Empty for replies. */
  route: string
  /** The start of the oldest attempt (Unix ms). */
  since: number
  count: number
  /** The longest recent attempt of the route (ms). */
  longest?: number | undefined
  /** The message of the oldest attempt. */
  messageId?: string | undefined
  /** The skill of the oldest attempt. */
  skill?: string | undefined
  /** When its timeout ends the oldest attempt (Unix ms). */
  timeoutAt?: number | undefined
  /** The ended runs of the skill, read only for long attempts. `p95`: ms. */
  usual?: { runs: number; p95: number } | undefined
}

/** A current pause. `name` of a conversation: its id. */
export type PauseReading = {
  kind: 'gateway' | 'route' | 'skill' | 'schedule' | 'conversation'
  name: string
  /** The sender of a conversation, if known. */
  label?: string
  gateway?: string
  since: number
  by?: string
  reason?: string
  until?: number
  /**
   * Number of messages that the pause holds, without those behind them in their conversations.
   * Absent while unknown.
   */
  waiting?: number
  /** Number of runs of schedules and events that the pause of a skill holds. Absent if there are none. */
  runs?: number
  /** Of a skill or schedule: what the pause holds or skips, in sentences. Absent while unknown. */
  effect?: string
}

export type StoredReadings = {
  stats: StoreStats
  /**
   * `behind`: the number of events that the group has to read, or that its push will send. Only of
   * groups that are far behind, or that nobody has read for an hour: `oldestAt` is since when the
   * oldest of them waits, and `lastRead` who read last.
   */
  groups: readonly (GroupInfo & { behind: number; oldestAt?: number; lastRead?: LastRead })[]
  subscriptions: readonly SubscriptionInfo[]
  /** `people`: those who wait because of the failure. */
  waiting: readonly (Waiting & { failure?: LastFailure; people?: readonly WaitingSender[] })[]
  budgets: readonly BudgetStatus[]
  /** Pending approvals, oldest first. */
  approvals: readonly Approval[]
  schedules: readonly FailingSchedule[]
  /** Absent if nobody waits for a person, or while unknown. */
  unanswered?: Unanswered | undefined
  /** The gateways that workers use. */
  pulls: readonly Pull[]
  /** The causes of the newest dead letters. */
  causes: readonly LetterCause[]
}

/** People who wait for an answer of a person: how many (`more`: or more), and the first of them. */
export type Unanswered = {
  count: number
  more: boolean
  since: number
  from: Message['from']
  gateway: string
}

/** The last failed attempt at one of the messages that are tried again. */
export type LastFailure = { messageId: string; route?: string; error: string }

/** A schedule whose last run became a dead letter. */
export type FailingSchedule = {
  id: string
  name: string
  skill: string
  error: string
  since: number
  count: number
}

/**
 * A cause of dead letters. `recent`: the number of its dead letters from the hour before the newest
 * one of all causes. `waiting`: the people who wait because of it.
 */
export type LetterCause = Pick<
  LetterGroup,
  | 'queue'
  | 'group'
  | 'code'
  | 'pattern'
  | 'common'
  | 'count'
  | 'tests'
  | 'first'
  | 'failingSince'
  | 'lastNew'
  | 'last'
  | 'retriedAt'
  | 'recipients'
> & { recent: number; waiting?: readonly WaitingSender[] }
