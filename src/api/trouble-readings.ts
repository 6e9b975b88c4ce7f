import { statfs } from 'node:fs/promises'
import { gatewaySecrets } from '../config/gateway-secrets.ts'
import type { Config } from '../config/load-config.ts'
import type { ApprovalService } from '../core/approval.ts'
import type { BudgetStatus } from '../core/budget.ts'
import { reasonOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { Jobs, Store } from '../core/store.ts'
import type { SubscriptionInfo } from '../core/subscription-info.ts'
import type { Gateways } from '../engine/gateways.ts'
import type { ReadPulls } from '../engine/pulls.ts'
import type { RefusalCount } from '../engine/refusal-tally.ts'
import type { UnroutedCount } from '../engine/unrouted-tally.ts'
import type { Queues } from '../features/bullmq/queues.ts'
import { conversationLabels, labelKey } from '../features/pauses/conversation-labels.ts'
import { type CountOf, heldCounts, type PauseView } from '../features/pauses/held-counts.ts'
import type { Pause } from '../features/pauses/records.ts'
import type { PausedSchedule } from '../features/schedules/schedule-pauses.ts'
import { ALWAYS_SHORT } from '../features/troubles/long-attempt-trouble.ts'
import { MAX_NAMED } from '../features/troubles/pause-troubles.ts'
import type { TroubleReadings } from '../features/troubles/readings.ts'
import { createRunLogs } from '../features/usage/run-log.ts'
import { usualRunOf } from '../features/usage/usual-run.ts'
import { defined } from '../lib/defined.ts'
import { skippedInWords } from '../lib/skipped-in-words.ts'
import { dayAndTime } from '../lib/utc-time.ts'
import type { SkillManager } from '../runtime/manager.ts'
import type { McpServers } from '../runtime/mcp/servers.ts'
import type { ReadCauses } from './letter-causes.ts'
import type { LastReload, Readings } from './metrics/readings.ts'
import { createSkillPauseEffects } from './skill-pause-effects.ts'
import { createStoredReadings } from './stored-readings.ts'
import type { ListUnanswered } from './unanswered-readings.ts'

/** How long (ms) the result of a ping of the store is cached, so that checks cause little load. */
const PING_LIFETIME = 5_000
/** How long (ms) the numbers of messages that pauses hold back are cached. */
const COUNTS_LIFETIME = 2_000

/** Reads the inputs of the list of troubles. */
export function createTroubleReadings(deps: {
  store: Store
  readCauses: ReadCauses
  dataDir: string
  gateways: Pick<Gateways, 'list'>
  queues: Pick<Queues, 'list'>
  mcp: Pick<McpServers, 'list'>
  manager: Pick<SkillManager, 'errors' | 'invoke'>
  refusals: { counts(): RefusalCount[] }
  pauses: { view: PauseView }
  storePause: { since(): number | undefined }
  unrouted: { list(): UnroutedCount[] }
  readPulls: ReadPulls
  config(): Pick<Config, 'asRead'>
  approvals: Pick<ApprovalService, 'list'>
  subscriptions(): Promise<SubscriptionInfo[]>
  pausedSchedules(): Promise<PausedSchedule[]>
  budgets(): Promise<BudgetStatus[]>
  conversations: ListUnanswered
  running(): Readings['running']
  lastReload(): LastReload
  draining(): boolean
  log: Log
  now(): number
}): () => Promise<TroubleReadings> {
  const { store } = deps
  const ping = createPing(store, deps.now)
  const readStored = createStoredReadings({
    ...deps,
    pulls: () => deps.readPulls(deps.gateways.list().map(({ name }) => name)),
  })
  const runs = createRunLogs({ kv: store.kv, now: deps.now })
  const readDispatchPauses = createPauseReadings(
    store,
    deps.pauses.view,
    createSkillPauseEffects(deps.manager, deps.now),
    deps.now,
  )
  const readPauses = async () => {
    const schedules = deps.pausedSchedules().catch(() => [])
    return [...(await readDispatchPauses()), ...(await schedules).map(pausedScheduleReading)]
  }

  return async () => {
    const [pinged, stored, disk, pauses, running] = await Promise.all([
      ping(),
      readStored(),
      spaceOf(deps.dataDir),
      readPauses(),
      withUsual(oldestRunning(deps.running()), runs, deps.now()),
    ])
    return {
      store: { ...pinged, address: store.address },
      disk,
      draining: deps.draining(),
      configuration: deps.lastReload(),
      secretsOf: (gateway) => gatewaySecrets(deps.config().asRead, gateway),
      gateways: deps.gateways.list(),
      queues: deps.queues.list(),
      mcp: deps.mcp.list(),
      broken: deps.manager.errors(),
      running,
      refusals: deps.refusals.counts(),
      pauses,
      storePausedSince: deps.storePause.since(),
      unrouted: deps.unrouted.list(),
      stored,
    }
  }
}

/** Running attempts per road, gateway and route, with the start of the oldest. */
export function oldestRunning(running: Readings['running']) {
  const groups = Map.groupBy(running, ({ road, gateway, route }) => JSON.stringify([road, gateway, route]))
  return [...groups.values()].map((attempts) => {
    const oldest = attempts.reduce((first, each) => (each.since < first.since ? each : first))
    return { ...oldest, count: attempts.length }
  })
}

/**
 * Adds to attempts longer than `ALWAYS_SHORT` how long runs of their skill usually take. Shorter
 * ones are never a trouble.
 */
function withUsual(
  running: ReturnType<typeof oldestRunning>,
  runs: Pick<ReturnType<typeof createRunLogs>, 'read'>,
  now: number,
) {
  return Promise.all(
    running.map(async (one) => {
      if (one.skill === undefined || now - one.since <= ALWAYS_SHORT) return one
      const log = await runs.read(one.skill).catch(() => undefined)
      return { ...one, ...defined({ usual: log && usualRunOf(log) }) }
    }),
  )
}

/** Whether the store accepts a write. */
export function pingStore(store: Pick<Store, 'ping'>): Promise<{ ok: boolean; reason: string | undefined }> {
  return store.ping().then(
    () => ({ ok: true, reason: undefined }),
    (error: unknown) => ({ ok: false, reason: reasonOf(error) }),
  )
}

/** Makes a ping whose result is cached. */
function createPing(store: Pick<Store, 'ping'>, now: () => number) {
  let pingedAt = Number.NEGATIVE_INFINITY
  let answer: ReturnType<typeof pingStore> | undefined
  return () => {
    if (answer && now() - pingedAt < PING_LIFETIME) return answer
    pingedAt = now()
    answer = pingStore(store)
    return answer
  }
}

/**
 * Makes a reader of the pauses with the numbers of messages that they hold back and the effects of
 * those of skills. Both are cached.
 */
function createPauseReadings(
  { jobs, journal }: { jobs: Pick<Jobs, 'held'>; journal: Pick<Store['journal'], 'search'> },
  view: PauseView,
  effectsOf: ReturnType<typeof createSkillPauseEffects>,
  now: () => number,
) {
  let countedAt = Number.NEGATIVE_INFINITY
  let counts: ReturnType<typeof heldCounts> | undefined
  let labels: ReturnType<typeof conversationLabels> | undefined
  return async (): Promise<TroubleReadings['pauses']> => {
    const pauses = view.list()
    if (pauses.length === 0) return []
    if (!counts || now() - countedAt >= COUNTS_LIFETIME) {
      countedAt = now()
      const noCounts: CountOf = () => undefined
      // If the store is unavailable, the pauses are listed without their numbers.
      counts = heldCounts(jobs, view).catch(() => noCounts)
      labels = conversationLabels(journal, longest(pauses))
    }
    const skills = pauses.flatMap(({ kind, name }) => (kind === 'skill' ? [name] : []))
    const [countOf, effects, known] = await Promise.all([counts, effectsOf(skills), labels])
    return pauses.map((pause) => {
      const effect = pause.kind === 'skill' ? effects.get(pause.name) : undefined
      const count = countOf(pause)
      const label = pause.kind === 'conversation' ? known?.get(labelKey(pause)) : undefined
      return { ...pause, ...defined({ waiting: count?.waiting, runs: count?.runs, effect, label }) }
    })
  }
}

function pausedScheduleReading({ id, name, cost, since, by, reason, until }: PausedSchedule) {
  const effect = skippedInWords(cost, dayAndTime)
  return {
    kind: 'schedule' as const,
    name: id,
    label: name,
    since,
    effect,
    ...defined({ by, reason, until }),
  }
}

/** The oldest pauses of conversations: only they are named in the list of troubles. */
function longest(pauses: readonly Pause[]): Pause[] {
  const conversations = pauses.filter(({ kind }) => kind === 'conversation')
  return conversations.toSorted((a, b) => a.since - b.since).slice(0, MAX_NAMED)
}

/** Free and total disk space in bytes. Undefined for network file systems that do not report it. */
async function spaceOf(dir: string): Promise<TroubleReadings['disk']> {
  const space = await statfs(dir).catch(() => undefined)
  if (!space || space.blocks === 0) return undefined
  return { free: space.bavail * space.bsize, size: space.blocks * space.bsize, dir }
}
