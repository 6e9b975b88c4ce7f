import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { transports } from '../../transports/registry.ts'
import { asyncApi, type Socket } from '../api/asyncapi.ts'
import { type LastReload, type Readings, roadsOf } from '../api/metrics.ts'
import { controlToken } from '../api/token.ts'
import type { Config } from '../config/load-config.ts'
import type { BudgetStanding } from '../core/budget.ts'
import { TriviumError } from '../core/errors.ts'
import { type Json, pathGet, toJson } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Submission } from '../core/message.ts'
import type { ApprovalService, SubscriptionInfo } from '../core/services.ts'
import { outputJsonSchema, skillJsonSchema } from '../core/skill.ts'
import type { Store } from '../core/store.ts'
import type { Check } from '../core/transport.ts'
import { isLasting } from '../engine/events.ts'
import type { Gateways } from '../engine/gateways.ts'
import { noGateway } from '../engine/receive.ts'
import type { Router } from '../engine/router.ts'
import { draftOf, submit } from '../engine/submit.ts'
import type { Queues } from '../features/bullmq/queues.ts'
import { createFeed } from '../features/live/feed.ts'
import type { History } from '../features/live/history.ts'
import { createOidc } from '../features/sign-in/oidc.ts'
import { createSessions } from '../features/sign-in/sessions.ts'
import { createTroubles } from '../features/troubles/troubles.ts'
import { type Address, listenOn } from '../http/public-http.ts'
import { defined } from '../lib/defined.ts'
import { logRequests } from '../lib/http.ts'
import { inTime } from '../lib/pause.ts'
import type { SkillManager } from '../runtime/manager.ts'
import type { McpHttp } from '../runtime/mcp/http.ts'
import type { McpServers } from '../runtime/mcp/servers.ts'
import { wordsOf } from '../runtime/prefix-skills.ts'
import { createDoctor } from './doctor.ts'
import type { Foundation } from './foundation.ts'
import type { RoadWorkers } from './road-workers.ts'
import type { Roads } from './roads.ts'
import { createTroubleReadings, oldestRunning, pingStore } from './trouble-readings.ts'

type Operator = ReturnType<typeof createOperator>

/** What an operator can ask of a daemon: over HTTP, or from the command line that runs it in its own process. */
export function createOperator(deps: {
  version: string
  startedAt: number
  store: Store
  manager: SkillManager
  gateways: Gateways
  /** The BullMQ queues that routes hand to, and whether they can be reached. */
  queues: Pick<Queues, 'list' | 'board'>
  roads: Roads
  explain: Router['explain']
  config(): Config
  /** Other MCP servers. */
  mcp: Pick<McpServers, 'list' | 'try'>
  log: Log
  reload(): Promise<Json>
  lastReload(): LastReload
  listening(): boolean
  draining(): boolean
  /** The documents of the assistant and the workbench that cannot be used. */
  checkDocuments(): Promise<Check[]>
  subscriptions(): Promise<SubscriptionInfo[]>
  /** What is worked on in this daemon. */
  running: RoadWorkers['running']
  assistant(): Promise<object>
  budgets(): Promise<BudgetStanding[]>
  /** Names this daemon. */
  owner: string
  history: History
  approvals: Pick<ApprovalService, 'list'>
  dataDir: string
  now(): number
}) {
  const { store, manager, gateways, roads } = deps
  const read = createTroubleReadings({ ...deps, refusals: roads.refusals, pauses: roads.pauses })
  const troubles = createTroubles({ read, journal: store.journal, now: deps.now })

  const transportOf = (name: string) => {
    const spec = gateways.spec(name)
    if (spec) return spec.transport
    throw noGateway(name, gateways.names())
  }

  /** The transport of a gateway that runs, or could. */
  const configured = ({ gateway }: Submission) => {
    const { gateways } = deps.config()
    const found = gateways.find(({ name }) => name === gateway)
    if (found) return found.transport
    throw noGateway(
      gateway,
      gateways.map(({ name }) => name),
    )
  }

  /** What metrics are made of. Throws `store_unavailable`. */
  const readings = async () => {
    const [stats, groups, subscriptions, budgets, waiting] = await Promise.all([
      store.stats(),
      store.topics.groups(),
      deps.subscriptions(),
      deps.budgets(),
      store.oldestWaiting(),
    ])
    const here = { reload: deps.lastReload(), gateways: gateways.list() }
    return { stats, groups, subscriptions, budgets, waiting, ...here }
  }

  const { doctor, diagnosis } = createDoctor({ ...deps, now: Date.now })
  const { list: approvals } = deps.approvals
  const feed = createFeed({
    store,
    history: deps.history,
    async overview() {
      const { stats, groups, subscriptions, waiting, reload, gateways } = await readings()
      return {
        daemon: deps.owner,
        store: store.kind,
        roads: roadsOf(stats),
        waiting,
        running: oldestRunning(deps.running()),
        gateways,
        subscriptions,
        groups,
        queues: deps.queues.list(),
        configuration: reload,
        draining: deps.draining(),
      }
    },
    approvals: () => approvals({ status: 'pending', limit: 1000 }),
    approval: async (id) => (await approvals({ id, limit: 1 }))[0],
    troubles: troubles.list,
    now: Date.now,
  })

  return {
    version: deps.version,
    history: () => ({ every: deps.history.every, points: deps.history.points() }),
    read: feed.read,
    /** What the page of metrics tells. */
    async measured(): Promise<Readings> {
      const look = async () => {
        const { groups, ...known } = await readings()
        return { ...known, groups: groups.filter(({ group }) => isLasting(group)) }
      }
      const [writes, stored, found] = await Promise.all([
        pingStore(store),
        look().catch(() => undefined),
        troubles.list(),
      ])
      return {
        takesWrites: writes.ok,
        troubles: found,
        stored,
        reload: deps.lastReload(),
        gateways: gateways.list(),
        running: deps.running(),
      }
    },
    invoke: manager.invoke,
    asyncapi() {
      const { gateways, subscriptions } = deps.config()
      const sockets = gateways.flatMap(({ name, transport, options }): Socket[] => {
        const [frames, path] = [transports[transport]?.frames, pathGet(options, 'path')]
        return frames && typeof path === 'string' ? [{ name, path, frames }] : []
      })
      const topics = subscriptions.map(({ topic }) => topic)
      return asyncApi(deps.version, sockets, topics)
    },
    artifacts: roads.services.artifacts,
    board: deps.queues.board,
    skills: () =>
      manager.list().map((info) => {
        const skill = manager.get(info.name)
        const { annotations } = skill?.metadata ?? {}
        const output = skill && outputJsonSchema(skill)
        return toJson({
          ...info,
          annotations,
          args: skill ? skillJsonSchema(skill) : {},
          ...defined({ output }),
        })
      }),
    describe: (name: string) => toJson(manager.describe(name)),
    troubles: troubles.list,
    async status() {
      const [{ stats, groups, subscriptions, budgets, waiting, reload }, assistant, writes, found] =
        await Promise.all([readings(), deps.assistant(), pingStore(store), troubles.list()])
      const disabled = deps.config().gateways.filter((gateway) => !gateway.enabled)
      return toJson({
        version: deps.version,
        pid: process.pid,
        startedAt: deps.startedAt,
        store: { kind: store.kind, address: store.address, ...writes },
        gateways: gateways.list(),
        subscriptions,
        disabled: disabled.map(({ name, transport, why = '' }) => ({ name, transport, why })),
        queues: deps.queues.list(),
        mcp: deps.mcp.list(),
        assistant,
        budgets,
        skills: manager.list(),
        registry: wordsOf(manager),
        broken: manager.errors(),
        configuration: reload,
        roads: roadsOf(stats),
        troubles: found,
        waiting,
        stats,
        groups,
      })
    },
    doctor,
    diagnosis,
    async submit(submission: Submission, signal: AbortSignal) {
      const { accept } = roads.accept
      return toJson(await submit(submission, { accept, transportOf, replies: roads.replies, store, signal }))
    },
    /** What the routes make of a message, or would make of one that is not accepted yet. */
    async explain(what: string | Submission) {
      const message =
        typeof what === 'string' ? await store.journal.get(what) : draftOf(what, configured(what))
      if (!message) throw new TriviumError('message_not_found', { id: String(what) })
      return toJson(deps.explain(message))
    },
    configuration() {
      const { file, asRead, warnings, daemon } = deps.config()
      const { dataDir, listen, controlListen, publicUrl, retention, grace, drainDelay } = daemon
      const inForce = { dataDir, listen, controlListen, publicUrl, retention, grace, drainDelay }
      return toJson({ file, ...asRead, inForce, warnings, reload: deps.lastReload() })
    },
    reload: deps.reload,
    async ready() {
      const store = await pingStore(deps.store)
      const sick = gateways.list().filter((gateway) => !gateway.ok)
      const [listening, draining] = [deps.listening(), deps.draining()]
      // Why it is not the file may quote the file, and this is open to anybody.
      const configuration = deps.lastReload().ok
        ? 'as in the file'
        : 'the last good one; see `trivium status`'
      // A gateway that cannot reach its provider must not take the others out of a load balancer.
      const ok = store.ok && listening && !draining
      return { ok, detail: toJson({ store, listening, draining, configuration, gateways: sick }) }
    },
  }
}

/** The control listener. Most commands work in their own process for a moment and never start it: it loads late. */
export function createControlServer(
  { config, store: { kv }, audit, metrics, tracing, isVerbose, log }: Foundation,
  operator: Operator,
  manager: SkillManager,
) {
  let mcp: Promise<McpHttp> | undefined
  let server: Server | undefined
  const answering = new Set<Promise<unknown>>()
  let isStopping = false
  const submit: Operator['submit'] = async (submission, signal) => {
    if (isStopping) throw new TriviumError('stopping')
    const answer = operator.submit(submission, signal)
    const settled = answer.catch(() => {}).finally(() => answering.delete(settled))
    answering.add(settled)
    return answer
  }

  return {
    /** Takes no more messages. Resolves when those that were put in here have their replies, after `within` ms at most. */
    async answered(within: number): Promise<void> {
      isStopping = true
      await inTime(Promise.all(answering), AbortSignal.timeout(within))
    },
    async listen(address: Address): Promise<Address> {
      const { createControlApi } = await import('../api/api.ts')
      const token = controlToken(config().daemon.dataDir, config().daemon.token)
      const api = createControlApi({
        ...operator,
        submit,
        async mcp(request, response, caller) {
          // Most daemons never get a request for it.
          mcp ??= import('../runtime/mcp/http.ts').then(({ createMcpHttp }) =>
            createMcpHttp({ manager, version: operator.version }),
          )
          await (await mcp).handle(request, response, caller, request.body)
        },
        token,
        console: () => config().console,
        sessions: createSessions({ kv, token, now: Date.now }),
        record: audit.record,
        oidc: createOidc({ token, now: Date.now }),
        tokens: () => config().tokens,
        metrics: async () => metrics.page(await operator.measured(), Date.now()),
      })
      const traced = tracing ? tracing.serve(api) : api
      server = createServer(isVerbose ? logRequests(log, traced) : traced)
      return listenOn(server, address, 'TRIVIUM_CONTROL_LISTEN')
    },
    async close() {
      await (await mcp)?.close()
      if (!server?.listening) return
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
