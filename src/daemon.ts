import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { hostname } from 'node:os'
import { isDeepStrictEqual } from 'node:util'
import { transports } from '../transports/registry.ts'
import type { Config } from './config/load-config.ts'
import type { RoutedSkill } from './config/skill-routes.ts'
import { createMetrics } from './control/metrics.ts'
import { controlToken } from './control/token.ts'
import { type Json, toJson } from './core/json.ts'
import type { Log } from './core/log.ts'
import type { Route } from './core/route.ts'
import type { Store } from './core/store.ts'
import type { TransportDeps } from './core/transport.ts'
import { accessRules, callerOf } from './daemon/access.ts'
import { closeServer, listenOn, textOf } from './daemon/addresses.ts'
import { createApprovalButtons } from './daemon/approval-buttons.ts'
import { recordApprovals } from './daemon/approval-events.ts'
import { createDurableParts } from './daemon/assistant.ts'
import { createHousekeeping } from './daemon/housekeeping.ts'
import { SHIPPED_SKILLS } from './daemon/known-skills.ts'
import { lazyMcp } from './daemon/lazy-mcp.ts'
import { modelSources } from './daemon/model-sources.ts'
import { createUsageRecorder } from './daemon/model-usage.ts'
import { checkStore, openStore } from './daemon/open-store.ts'
import { createOperator, type Operator } from './daemon/operator.ts'
import { createRoads } from './daemon/roads.ts'
import { createTranscript, skillOfReply } from './daemon/transcript.ts'
import { workbenchDirOf } from './daemon/workbench-service.ts'
import { resumeDispatch } from './gateway/dispatch.ts'
import { createGateways, createToEvent, type Gateways } from './gateway/gateways.ts'
import { createPublicHttp } from './gateway/public-http.ts'
import { createRouter } from './gateway/router.ts'
import { waitUntilSettled } from './gateway/settled.ts'
import { createSkillManager, type SkillManager } from './skills/manager.ts'
import { createMarkdownLoader } from './skills/markdown/loader.ts'
import { createMiddleware } from './skills/middleware/index.ts'
import { createRuntimeServices } from './skills/services.ts'
import { createArtifacts } from './state/artifacts/artifacts.ts'
import { createLogs } from './state/logs/logs.ts'

/** Where a running daemon is reached, as `host:port`. */
export type Addresses = { listen: string; control: string }

export type Daemon = {
  /** The configuration in force. */
  config(): Config
  /** Starts roads and gateways, and listens unless it is `local`. */
  start(): Promise<Addresses | undefined>
  /** Drains within the configured grace; nothing acknowledged is lost. Never throws. */
  stop(): Promise<void>
  /** Reads the configuration again; throws `config_invalid` and keeps the last good one. */
  reload(): Promise<Json>
  /** Puts a configuration that was read elsewhere in force. */
  apply(config: Config): Promise<void>
  /** The skills as `load` wants them. */
  skills(): RoutedSkill[]
  operator: Operator
  manager: SkillManager
  gateways: Pick<Gateways, 'list'>
  store: Pick<Store, 'kind' | 'address'>
  /** Notices whose reading a person should not miss: warnings of the configuration, broken skills. */
  notices(): string[]
}

export type DaemonOptions = {
  /** Reads routes.yaml; with the skills that there are once they are known, so that routes to others are refused. */
  load(skills?: readonly RoutedSkill[]): Promise<Config>
  /** `serve`: listens on both addresses. `local`: for one command in this process; no listeners, no gateways that need them. */
  mode: 'serve' | 'local'
  version: string
  /** The environment with `.env`: where keys of models are looked up. */
  env: Readonly<Record<string, string | undefined>>
  log: Log
}

/** Invocations and sends at once in this process; routes bound theirs further. */
const CONCURRENCY = 64
const MAX_BACKLOG = 1_000_000
/** Ms that replies and answers get to go out, when a drain has used up its grace. */
const LAST_MOMENT = 1_000

/** The composition root: the one place that knows every concrete part. */
export async function createDaemon(options: DaemonOptions): Promise<Daemon> {
  const { log, mode } = options
  let config = await options.load()
  const { dataDir } = config.daemon
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })

  const now = Date.now
  const startedAt = now()
  const owner = `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`
  const kinds = new Map(Object.entries(transports))
  const metrics = createMetrics()
  const store = await openStore({ daemon: config.daemon, toEvent: createToEvent(kinds), log })
  const artifacts = createArtifacts(dataDir)
  const logs = createLogs({ dir: dataDir, now })
  const publicHttp = createPublicHttp({ log })
  let draining = false

  let rules = accessRules(config.access)
  let routing = routingOf(config.routes)
  const roads = createRoads({
    store,
    owner,
    concurrency: CONCURRENCY,
    maxBacklog: config.daemon.maxBacklog ?? MAX_BACKLOG,
    routes: () => answering,
    gateways: () => gateways,
    invoke: (name, args, invokeOptions) => manager.invoke(name, args, invokeOptions),
    callerOf: (message) => callerOf(message, config.access),
    transcript: createTranscript(logs, log, (reply) => skillOfReply(reply, routing.routes)),
    metrics,
    log,
    now,
  })
  const buttons = createApprovalButtons({
    outbox: roads.outbox,
    journal: store.journal,
    approvals: () => approvals,
  })
  let answering = buttons.around(routing)
  const gateways: Gateways = createGateways({
    kinds,
    log,
    deps: (gateway): TransportDeps => ({
      gateway,
      accept: roads.accept.accept,
      http: publicHttp,
      replies: roads.replies(gateway),
      artifacts,
      kv: store.kv,
      leases: store.leases,
      ask: async (skill, args, { from, timeout }) =>
        toJson(await manager.invoke(skill, args, { caller: callerOf({ from }, config.access), timeout })),
      settled: async (messageId, timeout) => (await waitUntilSettled(store, messageId, timeout))?.outcome,
      log: log.child({ gateway }),
      now,
      note: (messageId, what, detail) =>
        void store.journal
          .note(messageId, [{ at: now(), road: 'outbox', what, detail }])
          .catch((err) =>
            log.warn({ messageId, what, err }, 'a note is missing in the history of a message'),
          ),
      refused: (reason) => metrics.accept.refused(gateway, reason),
    }),
  })
  const runtime = createRuntimeServices({
    store,
    dataDir,
    now,
    async resume(approval) {
      await buttons.decided(approval)
      if (approval.message) await resumeDispatch(store, approval.message, approval.id)
    },
  })
  const durable = createDurableParts({
    store,
    dataDir,
    workbenchDir: workbenchDirOf(config.file),
    logs,
    artifacts,
    owner,
    concurrency: CONCURRENCY,
    invoke: (name, args, invokeOptions) => manager.invoke(name, args, invokeOptions),
    requireSkill: (name) => void manager.describe(name),
    log,
    now,
  })
  const approvals = recordApprovals(runtime.approvals, logs, log)
  const manager: SkillManager = await createSkillManager({
    folders: [...config.skills.folders, SHIPPED_SKILLS],
    services: { ...roads.services, ...runtime, ...durable.services, approvals },
    globals: runtime.globals,
    skills: [buttons.skill],
    middleware: createMiddleware({ access: () => rules, ask: buttons.ask }),
    loadMarkdown: createMarkdownLoader({
      // Read for each run, as the name of the model is.
      get env() {
        return modelSources(config.model, options.env).env
      },
      get providers() {
        return modelSources(config.model, options.env).providers ?? {}
      },
      defaultModel: () => config.model?.name,
      onUsage: createUsageRecorder({ journal: store.journal, metrics, log, now }),
    }),
    log,
  })

  const apply = async (next: Config) => {
    const late = needRestart(config, next)
    if (late.length > 0) log.warn({ settings: late }, 'these changes take effect at the next start only')
    config = next
    rules = accessRules(next.access)
    routing = routingOf(next.routes)
    answering = buttons.around(routing)
    await gateways.apply(
      next.gateways.filter((gateway) => gateway.enabled && runsIn(mode, gateway.transport)),
    )
    roads.wake()
  }
  const reload = async () => {
    await manager.reload()
    await apply(await options.load(routedSkills(manager)))
    log.info(
      { routes: config.routes.length, gateways: gateways.list().length },
      'the configuration is reloaded',
    )
    return toJson({ ok: true, warnings: config.warnings.map((warning) => warning.message) })
  }

  const operator = createOperator({
    version: options.version,
    startedAt,
    store,
    manager,
    gateways,
    roads,
    router: () => routing.router,
    checkStore: () => checkStore(config.daemon, log),
    enabled: () => config.gateways.filter((gateway) => gateway.enabled),
    disabled: () =>
      config.gateways
        .filter((gateway) => !gateway.enabled)
        .map(({ name, transport, why }) => ({ name, transport, why: why ?? '' })),
    reload,
    draining: () => draining,
    assistant: async () => {
      const pending = await approvals.list({ status: 'pending', limit: 1000 })
      return { ...(await durable.overview()), approvals: pending.length }
    },
  })
  const mcp = lazyMcp(async () => {
    const { createMcpHttp } = await import('./skills/mcp/mcp-http.ts')
    return createMcpHttp({ manager, version: options.version, now })
  })
  let control: Server | undefined
  const createControl = async () => {
    // Most commands work in their own process for a moment, and serve nothing.
    const { createControlApi } = await import('./control/api.ts')
    const api = createControlApi({
      ...operator,
      mcp: (request, response, next) => void mcp.handle(request, response, request.body).catch(next),
      token: controlToken(dataDir, config.daemon.token),
      async metrics() {
        try {
          const [stats, groups] = await Promise.all([store.stats(), store.topics.groups()])
          const health = gateways.list().map(({ name, ...rest }) => ({ name, health: rest }))
          return await metrics.page({ stats, groups, gateways: health, now: now() })
        } catch (err) {
          log.debug({ err }, 'the store gave no readings for the metrics')
          return metrics.page(undefined)
        }
      },
    })
    return createServer(api)
  }
  const housekeeping = createHousekeeping({
    store,
    retention: () => config.daemon.retention,
    backlog: roads.accept.setBacklog,
    maintain: runtime.maintain,
    log,
  })

  return {
    config: () => config,
    operator,
    manager,
    gateways,
    store,
    reload,
    apply,
    skills: () => routedSkills(manager),
    notices: () => [
      ...config.warnings.map((warning) => warning.message),
      ...manager.errors().map(({ name, path, reason }) => `skill ${name} (${path}) is broken: ${reason}`),
    ],
    async start() {
      const checked = await options.load(routedSkills(manager))
      // Gateways first: a reply that finds none would wait for one, and a skill could not send.
      await apply(checked)
      await durable.prepare()
      await roads.start()
      housekeeping.start()
      if (mode === 'local') return undefined
      durable.start()
      control = await createControl()
      const listen = await publicHttp.listen(textOf(config.daemon.listen))
      const address = await listenOn(control, config.daemon.controlListen)
      return { listen: textOf(listen), control: textOf(address) }
    },
    async stop() {
      draining = true
      const { grace } = config.daemon
      const end = performance.now() + grace
      /** Of the grace; replies and answers get a moment of their own when skills needed all of it. */
      const left = () => Math.max(end - performance.now(), Math.min(grace, LAST_MOMENT))
      const steps = [
        () => gateways.stop(),
        () => Promise.all([roads.drain(left), durable.drain(grace)]),
        // Closing the gateways ends the requests and the connections that they hold.
        () => Promise.all([publicHttp.close(left()), gateways.close()]),
        () => manager.close(),
        () => mcp.close(),
        async () => control && closeServer(control),
        () => housekeeping.stop(),
        async () => runtime.close(),
        () => durable.close(),
        () => logs.close(),
        () => store.close(),
      ]
      for (const step of steps) {
        await step().catch((err: unknown) => log.error({ err }, 'a part did not stop cleanly'))
      }
    },
  }
}

function routingOf(routes: readonly Route[]) {
  return { router: createRouter(routes), routes }
}

/** Broken skills count: a route to one is no mistake of the route. */
function routedSkills(manager: SkillManager): RoutedSkill[] {
  const whole = manager.list().flatMap(({ name }) => manager.get(name) ?? [])
  return [...whole, ...manager.errors().map(({ name }) => ({ name }))]
}

/** What changed of that which is built into the parts when they are made. */
function needRestart(old: Config, next: Config): string[] {
  const built = ({ daemon, skills }: Config) => {
    const { grace: _grace, retention: _retention, ...fixed } = daemon
    return { ...fixed, skills }
  }
  const before: Record<string, unknown> = built(old)
  return Object.entries(built(next)).flatMap(([name, value]) =>
    isDeepStrictEqual(before[name], value) ? [] : [name],
  )
}

/** Without listeners only gateways that need none make sense: a command must not read somebody's mailbox. */
function runsIn(mode: DaemonOptions['mode'], transport: string): boolean {
  return mode === 'serve' || transport === 'cli'
}
