import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { transports } from '../transports/registry.ts'
import { createMetrics, type LastReload } from './api/metrics.ts'
import type { Config } from './config/load-config.ts'
import type { Call } from './core/call.ts'
import { reasonOf } from './core/errors.ts'
import { toJson } from './core/json.ts'
import type { Note } from './core/store.ts'
import type { TransportDeps } from './core/transport.ts'
import { createDurableParts } from './daemon/durable.ts'
import { createHousekeeping } from './daemon/housekeeping.ts'
import { SHIPPED_SKILLS } from './daemon/known-skills.ts'
import { openStore } from './daemon/open-store.ts'
import { createControlServer, createOperator } from './daemon/operator.ts'
import type { DaemonOptions } from './daemon/options.ts'
import { isOwnRoute, withOwnRoutes } from './daemon/own-routes.ts'
import { createRoads, createRoadWorkers, skillOf } from './daemon/roads.ts'
import { resumeDispatch, waitUntilSettled } from './engine/dispatch.ts'
import { createGateways } from './engine/gateways.ts'
import { createRefusals } from './engine/refusals.ts'
import { createRouter } from './engine/router.ts'
import { createApprovalService } from './features/approvals/approval-service.ts'
import {
  approvalClick,
  createApprovalAsking,
  mountApprovalPage,
  withoutLinks,
} from './features/approvals/approvals.ts'
import { recordApprovals } from './features/approvals/record.ts'
import { approvalWords, createApprovalWords } from './features/approvals/words.ts'
import { createArtifactService, createArtifacts } from './features/artifacts/artifacts.ts'
import { createAssistantContext } from './features/assistant/daemon-context.ts'
import { createQueues } from './features/bullmq/queues.ts'
import { needRestart, refuseMistakes } from './features/live/changes.ts'
import { createHistory } from './features/live/history.ts'
import { createPush } from './features/push/push.ts'
import { startTracing } from './features/tracing/tracing.ts'
import { createLogs } from './features/transcript/logs.ts'
import { shareLogs, withSharedLogs } from './features/transcript/shared-logs.ts'
import { createTranscript } from './features/transcript/transcript.ts'
import { troublesSkill } from './features/troubles/troubles.ts'
import { workbenchDirOf } from './features/workbench/project.ts'
import { createMissed } from './http/missed.ts'
import { createPublicHttp, textOf } from './http/public-http.ts'
import { defined } from './lib/defined.ts'
import { pause } from './lib/pause.ts'
import { createSteadyClock } from './lib/steady-clock.ts'
import { createTurns } from './lib/turns.ts'
import { createAccess } from './runtime/access.ts'
import { builtInSkills } from './runtime/built-in.ts'
import { createFreshImporter } from './runtime/load-code.ts'
import { createSkillManager } from './runtime/manager.ts'
import { createMarkdownLoader } from './runtime/markdown/loader.ts'
import { createMcpLogins } from './runtime/mcp/logins.ts'
import { createMcpServers } from './runtime/mcp/servers.ts'
import { createMiddleware } from './runtime/middleware/index.ts'
import { createBudgets } from './runtime/model/budget.ts'
import { createRunRecords } from './runtime/model/run-record.ts'
import { createRuntimeServices } from './runtime/services.ts'
import { watchSkills } from './runtime/watch-skills.ts'

export type Daemon = Awaited<ReturnType<typeof createDaemon>>

/** Ms that replies and answers get to go out, when a drain has used up its grace. */
const LAST_MOMENT = 1_000

/** The composition root: the one place that knows every concrete part. They are made in the order of their needs. */
export async function createDaemon(options: DaemonOptions) {
  const { log, mode, version, env } = options
  let config = await options.load()
  const { dataDir } = config.daemon
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })

  const { now = createSteadyClock() } = options
  const startedAt = now()
  const owner = `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`
  let draining = false

  const metrics = createMetrics({ version })
  const store = await openStore(config.daemon, { log, now, ...defined({ lock: options.lock }) })
  const tracing = mode === 'serve' ? await startTracing(env, log, store.journal.get) : undefined
  const files = createLogs({ dir: dataDir, now, log })
  const shared = store.kind === 'redis' ? shareLogs(files, { store, dataDir, log }) : undefined
  const logs = shared ?? files
  // The sweep comes a day after the last message that names a file is gone.
  const keepFor = () => config.daemon.retention.journal.maxAge + 2 * 86_400_000
  const artifacts = createArtifacts(dataDir, store.blobs && { blobs: store.blobs, keepFor })
  const router = createRouter(withOwnRoutes(config))
  const access = createAccess(config, (kind) => transports[kind]?.caseless ?? false)
  const gateways = createGateways({
    kinds: new Map(Object.entries(transports)),
    deps: (gateway) => depsOf(gateway),
    log,
  })
  /** What most parts are made with; each takes of it what it needs. */
  const base = { store, gateways, access, logs, artifacts, dataDir, owner, metrics, tracing, log, now }
  const note = (messageId: string, what: Omit<Note, 'at'>) => {
    store.journal
      .note(messageId, [{ at: now(), ...what }])
      .catch((err) => log.warn({ messageId, ...what, err }, 'a note is missing in the history of a message'))
  }
  const refusals = createRefusals({ count: metrics.refused, secrets: () => config.secrets, log, now })
  const listTroubles = () => operator.troubles()
  const permit = (skill: string, call: Call) => manager.permit(skill, call)
  const roads = createRoads({
    ...base,
    gatewayNames: () => config.gateways.map(({ name }) => name),
    maxDeliveries: (gateway) => config.gateways.find(({ name }) => name === gateway)?.maxDeliveries,
    files: createArtifactService({ artifacts, store, keepFor }),
    router,
    permit,
    refusals,
    logged: options.logged ?? (() => []),
    pushed: (messageId) => push.attemptsOf(messageId),
    traceUrl: (trace) => config.daemon.traceUrl?.replaceAll('{traceId}', trace),
  })

  const push = createPush({ ...base, pushed: metrics.pushed, traced: tracing?.event })
  const publicUrl = () => config.daemon.publicUrl
  const asking = createApprovalAsking({ ...base, outbox: roads.outbox, publicUrl })
  const runtime = createRuntimeServices(base)
  const approvals = createApprovalService({
    ...base,
    noted: recordApprovals(logs),
    async resume(approval) {
      await asking.decided(approval)
      if (approval.message) await resumeDispatch(store, approval.message, approval.id)
    },
  })
  const durable = createDurableParts({
    ...base,
    workbenchDir: workbenchDirOf(config.file),
    config: () => config,
    world: createAssistantContext({
      ...base,
      manager: () => manager,
      outbox: roads.outbox,
      router,
      ended: (rootId) => Promise.all([roads.events.releaseOwn(rootId), runs.end(rootId)]),
      rules: access.rules,
      config: () => config,
    }),
    invoke: (name, args, invokeOptions) => manager.invoke(name, args, invokeOptions),
    permit,
    callerAs: access.callerAs,
  })
  const queues = createQueues({
    where: () => config.queues,
    telemetry: tracing?.telemetry,
    async connect(url) {
      const { connectPatiently } = await import('./stores/redis/connect.ts')
      return connectPatiently(url, log)
    },
  })
  const runs = createRunRecords(store.kv)
  const budgets = createBudgets({
    ...base,
    kv: store.kv,
    budget: () => config.model?.budget,
    prices: () => config.model?.prices ?? {},
    refused: metrics.overBudget,
    used: ({ model, inputTokens, outputTokens }) => metrics.tokens(model, inputTokens, outputTokens),
  })
  const mcp = createMcpServers({
    version,
    kv: store.kv,
    login: createMcpLogins(dataDir).of,
    changed: (skills) => manager.useRemote(skills),
    log,
  })
  const manager = await createSkillManager({
    folders: [...config.skills.folders, SHIPPED_SKILLS],
    services: { ...roads.services, ...runtime, approvals, ...durable.services, subscriptions: push.service },
    globals: runtime.globals,
    skills: [...builtInSkills, approvalClick(approvals), approvalWords, troublesSkill(listTroubles, now)],
    middleware: [
      ...createMiddleware({ access: access.rules, ask: asking.ask }),
      ...(tracing ? [tracing.middleware] : []),
    ],
    loadMarkdown: createMarkdownLoader({
      sources: () => ({ model: config.model, env }),
      runs,
      budgets,
      telemetry: tracing?.models,
      onUsage({ messageId, ...detail }) {
        if (messageId !== undefined) note(messageId, { road: 'dispatch', what: 'model', detail })
      },
    }),
    ended: roads.events.releaseOwn,
    missing: mcp.missing,
    isGuarded: (skill) => router.routes().some((route) => route.skill === skill && route.approval === true),
    log,
  })

  const importer = createFreshImporter()
  const isVerbose = /^(debug|trace)$/.test(config.daemon.logLevel)
  const heard = { publicUrl, missed: createMissed(refusals.add, now) }
  const publicHttp = createPublicHttp({ log, host: config.daemon.listen.host, each: isVerbose, ...heard })
  mountApprovalPage(publicHttp, store.kv, approvals, access.callerAs)
  const depsOf = (gateway: string): TransportDeps => ({
    gateway,
    ...roads.doors,
    http: publicHttp,
    replies: roads.replies(gateway),
    queueServer: queues.server,
    artifacts,
    kv: store.kv,
    leases: store.leases,
    ask: async (skill, args, { from, timeout }) =>
      toJson(await manager.invoke(skill, args, { caller: access.callerOf({ gateway, from }), timeout })),
    router,
    modules: {
      // An app may write data beside its code.
      watch: (file, changed) => watchSkills([dirname(file)], changed, log, /\.[cm]?[jt]sx?$/),
    },
    listeners: roads.listeners,
    settled: async (messageId, timeout) => (await waitUntilSettled(store, messageId, timeout))?.outcome,
    log: log.child({ gateway }),
    now,
    note: (messageId, what, detail) => note(messageId, { road: 'outbox', what, detail }),
    refused: (reason, what) => refusals.add(gateway, reason, what),
  })
  const workers = createRoadWorkers({
    ...base,
    router,
    roads,
    manager,
    runs,
    queues,
    decide: createApprovalWords(approvals, store.kv),
    transcript: createTranscript(logs, gateways.unanswerable, {
      skillOf: (reply) => skillOf(reply, router.routes()),
      shown: withoutLinks,
      now,
    }),
  })

  const apply = async (next: Config) => {
    const late = needRestart(config, next, queues.names())
    if (late.length > 0) log.warn({ settings: late }, 'these changes take effect at the next start only')
    config = next
    access.use(next)
    await mcp.use(next.mcp.servers, { connect: mode === 'serve' })
    await queues.use(next.routes.flatMap(({ queue }) => queue ?? []))
    router.use(withOwnRoutes(next))
    // Before the gateways: what comes in is for new subscriptions too.
    await push.use(next.subscriptions)
    // Without listeners only gateways that need none make sense: a command must not read somebody's mailbox.
    const runsHere = (transport: string) => mode === 'serve' || transport === 'cli'
    await gateways.apply(next.gateways.filter(({ enabled, transport }) => enabled && runsHere(transport)))
    workers.wake()
  }
  let lastReload: LastReload = { ok: true, at: startedAt, goodAt: startedAt }
  const readAgain = async () => {
    const at = now()
    try {
      const next = await options.load(manager.known())
      refuseMistakes(config, next)
      await apply(next)
      lastReload = { ok: true, at, goodAt: at }
    } catch (error) {
      lastReload = { ok: false, at, goodAt: lastReload.goodAt, error: reasonOf(error) }
      throw error
    }
    const counts = { routes: config.routes.length, gateways: gateways.names().length }
    log.info(counts, 'the configuration is reloaded')
    return toJson({ ok: true, warnings: warnings() })
  }
  /** What a skill brings has no line. */
  const warnings = () => [
    ...config.warnings.map(({ file, line, message }) =>
      line === undefined ? `${file}: ${message}` : message,
    ),
    ...mcp.strangers(manager.list().flatMap(({ name }) => manager.get(name) ?? [])),
  ]
  const inTurn = createTurns()
  const reread = () => inTurn(readAgain)
  const reload = async () => {
    await manager.reload()
    return reread()
  }

  const history = createHistory({ counts: metrics.counts, stats: store.stats, now })
  const operator = createOperator({
    ...base,
    history,
    approvals,
    version,
    startedAt,
    manager,
    queues,
    roads,
    // Our own route is worth a line only where it answers.
    explain: (message) =>
      router.explain(message).filter(({ route, matched }) => matched || !isOwnRoute(route)),
    config: () => config,
    mcp,
    reload,
    lastReload: () => lastReload,
    subscriptions: push.service.list,
    running: workers.running,
    budgets: budgets.standing,
    listening: publicHttp.isListening,
    draining: () => draining,
    checkDocuments: durable.check,
    assistant: async () => {
      const pending = await approvals.list({ status: 'pending', limit: 1000 })
      return { ...(await durable.overview()), approvals: pending.length }
    },
  })
  const seen = { tracing, log: isVerbose ? log : undefined }
  const control = createControlServer(operator, manager, metrics, seen, () => config, store.kv)
  const housekeeping = createHousekeeping({
    ...{ store, history, accept: roads.accept, approvals, runtime, log },
    retention: () => withSharedLogs(config.daemon.retention),
  })

  return {
    config: () => config,
    operator,
    manager,
    gateways,
    store,
    /** Loads the skills and reads the configuration again; throws `config_invalid` and keeps the last good one. */
    reload,
    /** As `reload`, for the configuration alone. */
    reread,
    /** What a person should not miss: warnings of the configuration, broken skills. */
    notices: () => [
      ...warnings(),
      ...manager.errors().map(({ name, path, reason }) => `skill ${name} (${path}) is broken: ${reason}`),
    ],
    /** Starts roads and gateways. Resolves with where it listens, as `host:port`, unless it is `local`. */
    async start() {
      // Gateways first: a reply that finds none would wait for one, and a skill could not send.
      await inTurn(async () => apply(await options.load(manager.known())))
      await durable.prepare()
      workers.start()
      housekeeping.start()
      if (mode === 'local') return undefined
      durable.start()
      push.start()
      shared?.start()
      const address = await control.listen(config.daemon.controlListen)
      const listen = await publicHttp.listen(config.daemon.listen)
      return { listen: textOf(listen), control: textOf(address) }
    },
    /** Drains after the configured delay and within the grace; nothing acknowledged is lost. Never throws. */
    async stop() {
      draining = true
      const { grace, drainDelay } = config.daemon
      publicHttp.leave()
      if (publicHttp.isListening()) await pause(drainDelay)
      const end = performance.now() + grace
      /** Of the grace; replies and answers get a moment of their own when skills needed all of it. */
      const left = () => Math.max(end - performance.now(), Math.min(grace, LAST_MOMENT))
      const steps = [
        () => gateways.stop(),
        () => Promise.all([workers.drain(left), durable.drain(grace), push.stop(left())]),
        // Closing the gateways ends the requests and the connections that they hold.
        () => Promise.all([publicHttp.close(left()), gateways.close()]),
        () => Promise.all([manager.close(), importer.close()]),
        () => mcp.close(),
        () => queues.close(),
        () => control.close(),
        housekeeping.stop,
        async () => runtime.close(),
        () => durable.close(),
        () => logs.close(),
        () => store.close(),
        async () => tracing?.stop(),
      ]
      for (const step of steps) {
        await step().catch((err: unknown) => log.error({ err }, 'a part did not stop cleanly'))
      }
    },
  }
}
