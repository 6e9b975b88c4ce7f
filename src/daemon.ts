import { transports } from '../transports/registry.ts'
import { createControlServer } from './api/control-server.ts'
import { createOperator } from './api/operator.ts'
import { isInternalSkill } from './core/internal-skills.ts'
import { createAnswering } from './daemon/answering.ts'
import { budgetsWithPauses } from './daemon/budgets.ts'
import { createDoctor } from './daemon/doctor.ts'
import { createDurableParts } from './daemon/durable.ts'
import { type Foundation, makeFoundation } from './daemon/foundation.ts'
import { createHousekeeping } from './daemon/housekeeping.ts'
import { createLife } from './daemon/life.ts'
import type { DaemonOptions } from './daemon/options.ts'
import { makePeople } from './daemon/people.ts'
import { createReload } from './daemon/reload.ts'
import { createRoadWorkers } from './daemon/road-workers.ts'
import { createRoads, makePauses } from './daemon/roads.ts'
import { skillServices } from './daemon/skill-services.ts'
import { makeSkills } from './daemon/skills.ts'
import { createTransportDeps } from './daemon/transport-deps.ts'
import { resumeDispatch } from './engine/dispatch-queue.ts'
import type { GroupHistory } from './engine/group-history.ts'
import { withLateAnswers } from './engine/late-answers.ts'
import { createOutbox } from './engine/outbox.ts'
import { createApprovals } from './features/approvals/create-approvals.ts'
import { withAuditLog } from './features/audit/audit-log.ts'
import { createQueues } from './features/bullmq/queues.ts'
import { createHistory } from './features/live/history.ts'
import { createNotifier } from './features/notify/notifier.ts'
import { createNotify } from './features/notify/notify.ts'
import { createPush } from './features/push/push.ts'
import { withSharedLogs } from './features/transcript/shared-logs.ts'
import { troublesSkill } from './features/troubles/troubles.ts'
import { createVoice } from './features/voice/voice.ts'
import { createPublicHttp } from './http/public-http.ts'
import { createUnknownPathReports } from './http/unknown-paths.ts'
import { nounOf } from './runtime/own-middleware.ts'

export type Daemon = Awaited<ReturnType<typeof createDaemon>>

/**
 * The composition root: the only place that knows every concrete part. It creates all parts, then
 * connects them. Nothing runs before `start`.
 */
export async function createDaemon(options: DaemonOptions) {
  const base = await makeFoundation(options)
  const { config, store, metrics, tracing, gateways, router, now } = base

  // Create: each part gets what was created before it.
  const outbox = createOutbox(store, now, gateways.unanswerable)
  const approvals = createApprovals({
    ...base,
    outbox,
    publicUrl: () => config().daemon.publicUrl,
    resumeDispatch: (message, approval) => resumeDispatch(store, message, approval),
  })
  const pauses = makePauses(base)
  const skills = makeSkills(base, approvals, pauses.view)
  const { manager, mcp, runs } = skills
  const push = createPush({ ...base, pushed: metrics.pushed, traced: tracing?.event })
  const notify = createNotify({ ...base, outbox })
  const roads = createRoads(base, { outbox, manager, pauses, pushed: push.attemptsOf })
  const budgets = budgetsWithPauses(base, { roads, skills })
  const durable = createDurableParts(base, {
    manager,
    outbox,
    pauses: pauses.ofRuns,
    ended: (rootId) => Promise.all([roads.events.releaseOwn(rootId), runs.end(rootId)]),
  })
  const people = makePeople(base, { ...durable.personalData, ...skills.services, roads, push, manager })
  const queues = makeQueues(base)
  const http = makePublicHttp(base)
  const voice = makeVoice(base, skills)
  const answer = createAnswering({ ...base, manager, queues, decide: approvals.decide })
  const workers = createRoadWorkers(base, { roads, manager, runs, answer, voice })
  const reloading = createReload(base, { load: options.load, manager, mcp, queues, push, notify, workers })
  const { reload, reread, skillsChanged } = reloading
  const history = createHistory({ counts: metrics.counts, stats: store.stats, now })
  const services = { history, approvals: approvals.service, queues, messaging: roads, budgets }
  const housekeeping = createHousekeeping({
    ...base,
    ...services,
    groupHistory: samplingOf(roads.events.past, push.service.list),
    accept: roads.accept,
    runtime: skills.services,
    retention: () => withAuditLog(withLateAnswers(withSharedLogs(config().daemon.retention))),
  })
  const draining = { isDraining: false }
  const state = { ...base, manager, mcp, lastReload: reloading.last, listening: http.isListening }
  const operator = createOperator({
    ...state,
    ...createDoctor({ ...state, checkDocuments: durable.check }),
    ...services,
    address: http.address,
    framesOf: (transport) => transports[transport]?.frames,
    explain: explainOf(router),
    reload,
    previous: reloading.previous,
    subscriptions: push.service.list,
    pausedSchedules: durable.services.schedules.paused,
    running: workers.running,
    draining: () => draining.isDraining,
    assistant: async () => ({ ...(await durable.overview()), approvals: await approvals.count() }),
  })
  const control = createControlServer(base, operator, manager)
  const { troubles, troubleService } = operator
  const notifier = createNotifier({ ...base, notify, approvals: approvals.service, troubles })
  const working = { http, control, workers, durable, people, push, notifier }
  const { start, stop } = createLife(base, { ...working, skills, queues, housekeeping, reloading, draining })

  // Connect: parts that depend on each other.
  manager.connect({
    services: skillServices(base, { ...working, roads, skills, approvals, troubleService, budgets }),
    skills: [troublesSkill(troubles, now)],
    onEnd: roads.events.releaseOwn,
  })
  mcp.onChange(manager.useRemote)
  gateways.connect(createTransportDeps(base, { roads, http, queues, manager, notify }))
  approvals.mount(http)
  await manager.reload()

  const notices = () => noticesOf(reloading, manager)
  return { config, operator, manager, gateways, store, reload, reread, notices, skillsChanged, start, stop }
}

/** Leaves built-in routes out of explanations unless they match. */
function explainOf({ explain }: Foundation['router']): Foundation['router']['explain'] {
  return (message) => explain(message).filter(({ route, matched }) => matched || !isInternalSkill(route))
}

function makeVoice(base: Foundation, { budgets }: Pick<ReturnType<typeof makeSkills>, 'budgets'>) {
  const live = { transcribe: () => base.config().transcribe, env: () => base.config().environment }
  return createVoice({ ...base, ...live, kv: base.store.kv, budgets })
}

/** The BullMQ queues of routes. The Redis client is loaded when the first of them is used. */
function makeQueues({ config, tracing, log }: Foundation) {
  return createQueues({
    where: () => config().queues,
    telemetry: tracing?.telemetry,
    async connect(url) {
      const { connectPatiently } = await import('./stores/redis/connect.ts')
      return connectPatiently(url, log)
    },
  })
}

function makePublicHttp({ config, refusals, isVerbose, log, clean, now }: Foundation) {
  return createPublicHttp({
    log,
    host: config().daemon.listen.host,
    logsEach: isVerbose,
    clean,
    publicUrl: () => config().daemon.publicUrl,
    reportUnknownPath: createUnknownPathReports(refusals.add, now, (path) =>
      config().gateways.find(({ offPath }) => offPath === path),
    ),
  })
}

/** Samples the backlog of groups, with what push subscriptions have queued. */
function samplingOf(
  { every, sample }: GroupHistory,
  pushes: () => Promise<Parameters<GroupHistory['sample']>[0]>,
): { every: number; sample(): Promise<void> } {
  return { every, sample: async () => sample(await pushes()) }
}

/** Problems that a person should notice: warnings of the configuration, broken skills. */
function noticesOf(
  { warnings }: Pick<ReturnType<typeof createReload>, 'warnings'>,
  { errors }: Pick<ReturnType<typeof makeSkills>['manager'], 'errors'>,
): string[] {
  const broken = errors().map(
    ({ name, path, reason }) => `${nounOf(name)} ${name} (${path}) is broken: ${reason}`,
  )
  return [...warnings(), ...broken]
}
