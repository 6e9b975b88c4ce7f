import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { Config } from '../config/load-config.ts'
import type { Metrics } from '../control/metrics.ts'
import { controlToken } from '../control/token.ts'
import type { Log } from '../core/log.ts'
import { type Address, listenOn } from '../gateway/listen.ts'
import type { SkillManager } from '../skills/manager.ts'
import type { McpHttp } from '../skills/mcp/mcp-http.ts'
import type { Operator } from './operator.ts'

/** The control listener. Most commands work in their own process for a moment and never start it: it loads late. */
export function createControlServer(deps: {
  operator: Operator
  manager: SkillManager
  metrics: Metrics
  config(): Config
  log: Log
  now(): number
}) {
  const { operator, manager, metrics, config, log, now } = deps
  let mcp: Promise<McpHttp> | undefined
  let server: Server | undefined

  /** Most daemons never get a request for it. */
  const loadMcp = async () => {
    const { createMcpHttp } = await import('../skills/mcp/mcp-http.ts')
    return createMcpHttp({ manager, version: operator.version, now })
  }
  const readings = () =>
    operator
      .readings()
      .catch((err: unknown) => log.debug({ err }, 'the store gave no readings for the metrics'))

  return {
    async listen(address: Address): Promise<Address> {
      const { createControlApi } = await import('../control/api.ts')
      const api = createControlApi({
        ...operator,
        async mcp(request, response, caller) {
          mcp ??= loadMcp()
          await (await mcp).handle(request, response, caller, request.body)
        },
        token: controlToken(config().daemon.dataDir, config().daemon.token),
        tokens: () => config().tokens,
        metrics: async () => metrics.page((await readings()) ?? undefined, now()),
      })
      server = createServer(api)
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
