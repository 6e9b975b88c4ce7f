import type { Config } from '../config/load-config.ts'
import type { ApprovalService } from '../core/approval.ts'
import type { ArtifactService } from '../core/artifacts.ts'
import type { BudgetStatus } from '../core/budget.ts'
import type { Json } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Accepted, NewMessage } from '../core/message.ts'
import type { Store } from '../core/store.ts'
import type { SubscriptionInfo } from '../core/subscription-info.ts'
import type { ReplyLog } from '../core/transport.ts'
import type { Gateways } from '../engine/gateways.ts'
import type { NameTally } from '../engine/name-tally.ts'
import type { ReadPulls } from '../engine/pulls.ts'
import type { RefusalCount } from '../engine/refusal-tally.ts'
import type { Router } from '../engine/router.ts'
import type { UnroutedCount } from '../engine/unrouted-tally.ts'
import type { Queues } from '../features/bullmq/queues.ts'
import type { History } from '../features/live/history.ts'
import type { Pauses } from '../features/pauses/pauses.ts'
import type { PausedSchedule } from '../features/schedules/schedule-pauses.ts'
import type { Address } from '../http/listen-on.ts'
import type { SkillManager } from '../runtime/manager.ts'
import type { McpServers } from '../runtime/mcp/servers.ts'
import type { Socket } from './asyncapi.ts'
import type { ControlDeps } from './control-deps.ts'
import type { LastReload, Readings } from './metrics/readings.ts'
import type { Previous } from './shown-configuration.ts'
import type { ListUnanswered } from './unanswered-readings.ts'

/** Dependencies of the operator's view of a daemon. */
export type OperatorDeps = Pick<ControlDeps, 'version' | 'doctor' | 'diagnosis'> & {
  /** Unix ms. */
  startedAt: number
  store: Store
  manager: SkillManager
  gateways: Gateways
  /** The BullMQ queues of routes, and whether they are reachable. */
  queues: Pick<Queues, 'list' | 'board'>
  /** How messages arrive and are answered. */
  messaging: {
    accept: { accept(message: NewMessage): Promise<Accepted> }
    replies(gateway: string): ReplyLog
    refusals: { counts(): RefusalCount[] }
    pauses: Pick<Pauses, 'view'>
    services: { artifacts: ArtifactService; conversations: { list: ListUnanswered } }
  }
  /** The WebSocket frames of a transport; undefined if it has no persistent connections. */
  framesOf(transport: string): Socket['frames'] | undefined
  explain: Router['explain']
  config(): Config
  mcp: Pick<McpServers, 'list'>
  reload(): Promise<Json>
  lastReload(): LastReload
  previous(): Previous | undefined
  routeTally: NameTally
  unrouted: { list(): UnroutedCount[] }
  readPulls: ReadPulls
  /** Changes when a long job begins or ends. */
  jobsVersion(): string
  storePause: { since(): number | undefined }
  /** Whether both listeners listen. */
  listening(): boolean
  /** The actual address of the public listener, while it listens. */
  address(): Address | undefined
  /** Whether the daemon is stopping. */
  draining(): boolean
  subscriptions(): Promise<SubscriptionInfo[]>
  pausedSchedules(): Promise<PausedSchedule[]>
  /** Running work in this daemon. */
  running(): Readings['running']
  /** Counts of the assistant's notes, schedules and delegations. */
  assistant(): Promise<object>
  budgets(): Promise<BudgetStatus[]>
  /** Identifies this daemon: host name, process id and a random part. */
  owner: string
  history: History
  approvals: Pick<ApprovalService, 'list'>
  dataDir: string
  /** Redacts secrets in a text. */
  clean(text: string): string
  log: Log
  now(): number
}
