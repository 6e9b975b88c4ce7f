import { once } from 'node:events'
import type { Config } from '../config/load-config.ts'
import type { RecordAudit } from '../core/audit.ts'
import { TriviumError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { loadPart } from '../core/parts.ts'
import type { Store } from '../core/store.ts'
import { createOidc } from '../features/sign-in/oidc.ts'
import { createSessions } from '../features/sign-in/sessions.ts'
import { type Address, boundAddress, listenOn } from '../http/listen-on.ts'
import { logRequests } from '../lib/http.ts'
import { createServer, type RequestListener, type Server } from '../lib/node-http.ts'
import { inTime } from '../lib/pause.ts'
import type { SkillManager } from '../runtime/manager.ts'
import type { McpHttp } from '../runtime/mcp/http.ts'
import type { Metrics } from './metrics/metrics.ts'
import type { Operator } from './operator.ts'
import { createControlToken } from './token.ts'

/**
 * Timeouts (ms) for the headers and the whole of a request, and how often both are checked. As on
 * the public listener.
 */
const LIMITS = { headersTimeout: 10_000, requestTimeout: 60_000, connectionsCheckingInterval: 1_000 }

/**
 * The control listener. Loads its modules when it starts to listen, because most commands of the
 * CLI never need it.
 */
export function createControlServer(
  base: {
    config(): Config
    store: Pick<Store, 'kv'>
    audit: { record: RecordAudit }
    metrics: Metrics
    tracing?: { serve(listener: RequestListener): RequestListener } | undefined
    /** Whether to log each request. */
    isVerbose: boolean
    /** Redacts secrets in a text. */
    clean(text: string): string
    log: Log
  },
  operator: Operator,
  manager: SkillManager,
) {
  const { config, audit, metrics, tracing, isVerbose, log, clean } = base
  const { kv } = base.store
  let mcp: McpHttp | undefined
  let server: Server | undefined
  /** Submissions that wait for their replies. */
  const pending = new Set<Promise<unknown>>()
  let isStopping = false
  const submit: Operator['submit'] = async (submission, signal) => {
    if (isStopping) throw new TriviumError('stopping', { what: 'The message was not accepted.' })
    const result = operator.submit(submission, signal)
    const settled = result.catch(() => {}).finally(() => pending.delete(settled))
    pending.add(settled)
    return result
  }

  return {
    /**
     * Rejects new submissions from now on. Resolves when all earlier ones have their replies, after
     * at most `timeout` ms.
     */
    async drain(timeout: number): Promise<void> {
      isStopping = true
      await inTime(Promise.all(pending), AbortSignal.timeout(timeout))
    },
    async listen(address: Address): Promise<Address> {
      const { createControlApi } = await import('./api.ts')
      const { current: token, rotate: rotateToken } = createControlToken(
        config().daemon.dataDir,
        config().daemon.token,
      )
      const api = createControlApi({
        ...operator,
        submit,
        configuration: () => operator.configuration(server && boundAddress(server)),
        async mcp(request, response, caller) {
          // Loaded on first use: most daemons never get an MCP request.
          const { createMcpHttp } = await loadPart('mcp', () => import('../runtime/mcp/http.ts'))
          mcp ??= createMcpHttp({ manager, version: operator.version })
          await mcp.handle(request, response, caller, request.body)
        },
        token,
        rotateToken,
        hangUp: () => server?.closeAllConnections(),
        console: () => config().console,
        sessions: createSessions({ kv, token, now: Date.now }),
        record: audit.record,
        oidc: createOidc({ token, now: Date.now }),
        tokens: () => config().tokens,
        metrics: async () => metrics.page(await operator.measured(), Date.now()),
      })
      const traced = tracing ? tracing.serve(api) : api
      server = createServer(LIMITS, isVerbose ? logRequests(log, traced, clean) : traced)
      return listenOn(server, address, 'TRIVIUM_CONTROL_LISTEN')
    },
    /** Closes all connections. */
    async close() {
      await mcp?.close()
      if (!server?.listening) return
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
