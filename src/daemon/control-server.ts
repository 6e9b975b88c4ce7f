import { createServer, type Server } from 'node:http'
import type { LastReload, Metrics } from '../control/metrics.ts'
import { controlToken } from '../control/token.ts'
import type { ProgramToken } from '../core/call.ts'
import type { Log } from '../core/log.ts'
import type { Store } from '../core/store.ts'
import type { RunningGateways } from '../gateway/gateways.ts'
import { type Address, closeServer, listenOn } from '../gateway/listen.ts'
import type { SkillManager } from '../skills/manager.ts'
import type { McpHttp } from '../skills/mcp/mcp-http.ts'
import type { Operator } from './operator.ts'

/** The control listener. Most commands work in their own process for a moment and never start it: it loads late. */
export function createControlServer(deps: {
  operator: Operator
  manager: SkillManager
  store: Pick<Store, 'stats' | 'topics'>
  gateways: RunningGateways
  metrics: Metrics
  lastReload(): LastReload
  version: string
  dataDir: string
  token: string | undefined
  tokens(): readonly ProgramToken[]
  log: Log
  now(): number
}) {
  const { manager, store, gateways, metrics, version, log, now } = deps
  let mcp: Promise<McpHttp> | undefined
  let server: Server | undefined

  /** Most daemons never get a request for it. */
  const loadMcp = async () => {
    const { createMcpHttp } = await import('../skills/mcp/mcp-http.ts')
    return createMcpHttp({ manager, version, now })
  }
  const readings = async () => {
    try {
      const [stats, groups] = await Promise.all([store.stats(), store.topics.groups()])
      return { stats, groups, reload: deps.lastReload(), gateways: gateways.list(), now: now() }
    } catch (err) {
      log.debug({ err }, 'the store gave no readings for the metrics')
      return undefined
    }
  }

  return {
    async listen(address: Address): Promise<Address> {
      const { createControlApi } = await import('../control/api.ts')
      const api = createControlApi({
        ...deps.operator,
        version,
        async mcp(request, response, caller) {
          mcp ??= loadMcp()
          await (await mcp).handle(request, response, caller, request.body)
        },
        token: controlToken(deps.dataDir, deps.token),
        tokens: deps.tokens,
        metrics: async () => metrics.page(await readings()),
      })
      server = createServer(api)
      return listenOn(server, address, 'TRIVIUM_CONTROL_LISTEN')
    },
    async close() {
      await (await mcp)?.close()
      if (server) await closeServer(server)
    },
  }
}
