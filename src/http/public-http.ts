import type { Socket } from 'node:net'
import type { Log } from '../core/log.ts'
import type { RequestHandler, UpgradeHandler } from '../core/transport.ts'
import { isLoopback, logRequests } from '../lib/http.ts'
import { createRareLog } from '../lib/log-rarely.ts'
import { createServer } from '../lib/node-http.ts'
import { type Address, boundAddress, drain, listenOn } from './listen-on.ts'
import { createPaths, pathOf } from './paths.ts'
import { createBodyReader } from './read-body.ts'
import { createServing } from './serving.ts'
import type { ReportUnknownPath } from './unknown-paths.ts'
import { WholeRequest } from './whole-request.ts'

/** Limits for the open internet; times in ms. */
const LIMITS = {
  /** Time limit for the head of a request (slow-loris). */
  headersTimeout: 10_000,
  /** Time limit for the whole request. */
  requestTimeout: 60_000,
  /** Interval at which both limits are checked. */
  connectionsCheckingInterval: 1_000,
  /** Idle time-out; longer than the 60 s of common load balancers. */
  keepAliveTimeout: 65_000,
  /** Further connections are refused at once. */
  maxConnections: 10_000,
}

export type PublicHttpOptions = {
  log: Log
  /** The listen address. */
  host?: string
  /** Maximum total bytes of unfinished bodies. */
  bodies?: number
  /** Whether to log each request at debug. */
  logsEach?: boolean
  /** Redacts secrets in the logged paths. */
  clean?(text: string): string
  publicUrl?(): string | undefined
  /** Called for requests to unknown paths, except for common probes of scanners and browsers. */
  reportUnknownPath?: ReportUnknownPath
} & Partial<typeof LIMITS>

/**
 * Makes the listener that all gateways share: plain node:http, with one map lookup by exact path,
 * without the query.
 */
export function createPublicHttp(given: PublicHttpOptions) {
  const {
    log,
    host = '127.0.0.1',
    bodies,
    logsEach = false,
    clean = (text) => text,
    publicUrl = () => undefined,
    reportUnknownPath,
    ...options
  } = given
  const { maxConnections, ...limits } = { ...LIMITS, ...options }
  const paths = createPaths()
  const open = new Set<Socket>()
  const logRarely = createRareLog(log)

  const server = createServer({
    ...limits,
    IncomingMessage: WholeRequest,
    // Some clients offer `Upgrade: h2c` with every POST; only our WebSocket paths may upgrade.
    shouldUpgradeCallback: ({ method, headers, url }) =>
      method === 'GET' &&
      headers.upgrade?.toLowerCase() === 'websocket' &&
      paths.get(pathOf(url)).upgrade !== undefined,
  })
  const { serve, serveUpgrade, fail, leave } = createServing({
    server,
    paths,
    log,
    logsEach,
    reportUnknownPath,
  })
  server.on('request', logsEach ? logRequests(log, serve, clean) : serve)
  server.maxConnections = maxConnections
  server.on('connection', (socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  server.on('upgrade', serveUpgrade)
  server.on('drop', () => logRarely('connections', 'warn', 'connections are refused', { maxConnections }))

  return {
    mount: (path: string, mount: RequestHandler) => paths.add(path, { mount }),
    upgrade: (path: string, upgrade: UpgradeHandler) => paths.add(path, { upgrade }),
    isLocal: isLoopback(host),
    publicUrl,
    ...createBodyReader(bodies),
    fail,
    /** Resolves with the actual address. Throws `cannot_listen` if it is taken or not local. */
    listen: (address: Address) => listenOn(server, address, 'TRIVIUM_LISTEN'),
    isListening: () => server.listening,
    /** The actual address while it listens. */
    address: () => boundAddress(server),
    /** Number of open connections, including WebSockets. */
    connections: () => open.size,
    /**
     * From now on, responses ask clients to reconnect, possibly to another daemon. Everything is
     * still served.
     */
    leave,
    /**
     * Stops listening. Resolves once requests in flight are answered. Cuts them after `grace` ms.
     */
    close(grace = 10_000) {
      leave()
      return drain(server, open, grace)
    },
  }
}
