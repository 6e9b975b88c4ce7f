import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { errorBody, stoppingError, TriviumError, toTriviumError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { RequestHandler, UpgradeHandler } from '../core/transport.ts'
import { answerJson, isLoopback, logRequests, peerOf } from '../lib/http.ts'
import { createRareLog } from '../lib/log-rarely.ts'
import { createServer, type IncomingMessage, type Server, ServerResponse } from '../lib/node-http.ts'
import type { Missed } from './missed.ts'
import { createBodyReader } from './read-body.ts'
import { WholeRequest } from './whole-request.ts'

/** Limits for the open internet; times in ms. */
const LIMITS = {
  /** Time limits for the head of a request (slow-loris) and for the whole request. */
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  /** How often both are checked. */
  connectionsCheckingInterval: 1_000,
  /** Idle time-out; longer than the 60 s of common load balancers. */
  keepAliveTimeout: 65_000,
  /** Further connections are refused at once. */
  maxConnections: 10_000,
}

/** `host`: the listen address. `bodies`: maximum total bytes of unfinished bodies. `each`: log every request at debug. */
export type PublicHttpOptions = {
  log: Log
  host?: string
  bodies?: number
  each?: boolean
  publicUrl?(): string | undefined
  /** Called for requests to unknown paths, except for common probes of scanners and browsers. */
  missed?: Missed
} & Partial<typeof LIMITS>

/** The handlers of a path: for requests, or for WebSockets. */
type Entry = { mount?: RequestHandler; upgrade?: UpgradeHandler }

/** Makes the listener that all gateways share: plain node:http, with one map lookup by exact path, without the query. */
export function createPublicHttp(given: PublicHttpOptions) {
  const { log, host = '127.0.0.1', bodies, each = false, publicUrl, missed, ...options } = given
  const { maxConnections, ...limits } = { ...LIMITS, ...options }
  const entries = new Map<string, Entry>()
  const open = new Set<Socket>()
  const logRarely = createRareLog(log)
  let leaving = false

  const server = createServer(
    {
      ...limits,
      IncomingMessage: WholeRequest,
      // Some clients offer `Upgrade: h2c` with every POST; only our WebSocket paths may upgrade.
      shouldUpgradeCallback: ({ method, headers, url }) =>
        method === 'GET' &&
        headers.upgrade?.toLowerCase() === 'websocket' &&
        entries.get(pathOf(url))?.upgrade !== undefined,
    },
    each ? logRequests(log, serve) : serve,
  )
  server.maxConnections = maxConnections
  server.on('connection', (socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  server.on('upgrade', serveUpgrade)
  server.on('drop', () => logRarely('connections', 'warn', 'connections are refused', { maxConnections }))

  /** Logs internal errors only: gateways report their own refusals. */
  function logFailure(request: IncomingMessage, error: TriviumError) {
    if (error.code === 'internal')
      log.error({ path: pathOf(request.url), err: error }, 'a request handler failed')
  }

  function serve(request: IncomingMessage, response: ServerResponse) {
    const path = pathOf(request.url)
    const { mount } = entries.get(path) ?? {}
    if (leaving) response.setHeader('connection', 'close')
    if (!mount) return void refuse(request, response, path)
    try {
      // `Promise.try` would add two promises per request.
      mount(request, response)?.catch((thrown: unknown) => fail(request, response, thrown))
    } catch (thrown) {
      fail(request, response, thrown)
    }
  }

  function fail(request: IncomingMessage, response: ServerResponse, thrown: unknown) {
    const error = toTriviumError(thrown)
    logFailure(request, error)
    answerError(response, error)
  }

  function refuse(request: IncomingMessage, response: ServerResponse, path: string) {
    const error = refusal(path)
    if (error.code === 'not_found') missed?.(request, path, [...entries.keys()])
    answerError(response, error)
  }

  function refusal(path: string): TriviumError {
    if (!server.listening) return stoppingError()
    return entries.has(path)
      ? new TriviumError('upgrade_required', { path })
      : new TriviumError('not_found', { path: path.slice(0, 200) })
  }

  async function serveUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer) {
    // A reset before the handler adds its own listener must not end the process.
    socket.on('error', (error) => log.debug({ err: error }, 'an upgraded connection broke'))
    const path = pathOf(request.url)
    const { upgrade } = entries.get(path) ?? {}
    if (each) log.debug({ path, from: peerOf(request) }, 'a WebSocket is asked for')
    try {
      if (!upgrade || !server.listening) throw stoppingError()
      await upgrade(request, socket, head)
    } catch (error) {
      const refusal = toTriviumError(error)
      logFailure(request, refusal)
      if (!socket.writable) return void socket.destroy()
      const response = new ServerResponse(request)
      response.assignSocket(request.socket)
      response.shouldKeepAlive = false
      response.once('finish', () => socket.end(() => socket.destroy()))
      if (refusal.status === 401) response.setHeader('www-authenticate', 'Bearer')
      answerError(response, refusal)
    }
  }

  function add(path: string, entry: Entry): () => void {
    if (entries.has(path)) {
      const details = `Two gateways listen at ${path}; give each its own path.`
      throw new TriviumError('config_invalid', { details })
    }
    entries.set(path, entry)
    return () => {
      if (entries.get(path) === entry) entries.delete(path)
    }
  }

  return {
    mount: (path: string, mount: RequestHandler) => add(path, { mount }),
    upgrade: (path: string, upgrade: UpgradeHandler) => add(path, { upgrade }),
    isLocal: isLoopback(host),
    ...(publicUrl && { publicUrl }),
    readBody: createBodyReader(bodies),
    /** Resolves with the actual address. Throws `cannot_listen` if it is taken or not local. */
    listen: (address: Address) => listenOn(server, address, 'TRIVIUM_LISTEN'),
    isListening: () => server.listening,
    /** Number of open connections, including WebSockets. */
    connections: () => open.size,
    /** From now on, responses ask clients to reconnect, possibly to another daemon. Everything is still served. */
    leave() {
      leaving = true
    },
    /** Stops listening. Resolves once requests in flight are answered; after `grace` ms they are cut. */
    close(grace = 10_000) {
      leaving = true
      return drain(server, open, grace)
    },
  }
}

/** The path without the query, also of a request in absolute form (RFC 9112, 3.2.2). */
function pathOf(url = '/'): string {
  const query = url.indexOf('?')
  const target = query < 0 ? url : url.slice(0, query)
  if (target.startsWith('/')) return target
  return URL.canParse(target) ? new URL(target).pathname : target
}

/** How long (ms) a refused sender may keep sending. */
const LINGER = 5_000

/** Answers with an error while the body may still be arriving. `Retry-After` is shorter for a backlog than for a store failure. */
function answerError(response: ServerResponse, error: TriviumError) {
  if (response.headersSent) return void response.destroy()
  const { req: request } = response
  if (!request.complete) {
    // Let the sender finish and read the response, but not for ever.
    request.resume()
    response.once('finish', () => setTimeout(() => request.complete || request.destroy(), LINGER).unref())
  }
  if (error.status === 426) response.setHeader('upgrade', 'websocket')
  if (error.retryable && !response.hasHeader('retry-after')) {
    response.setHeader('retry-after', error.code === 'overloaded' ? '1' : '5')
  }
  answerJson(response, error.status, JSON.stringify(errorBody(error)))
}

export type Address = { host: string; port: number }

/** Formats `host:port`, with brackets around an IPv6 address. */
export function textOf({ host, port }: Address): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Resolves with the actual address (port 0 picks one). Throws `cannot_listen`; `setting` names the option to change. */
export async function listenOn(server: Server, wanted: Address, setting: string): Promise<Address> {
  server.listen(wanted.port, wanted.host)
  await once(server, 'listening').catch((cause: Error) => {
    const values = { address: textOf(wanted), reason: cause.message, setting }
    throw new TriviumError('cannot_listen', values, { cause })
  })
  const bound = server.address()
  return bound && typeof bound === 'object' ? { host: bound.address, port: bound.port } : wanted
}

async function drain(server: Server, open: ReadonlySet<Socket>, grace: number): Promise<void> {
  if (!server.listening) return
  const closed = once(server, 'close')
  server.close()
  // A connection that was busy at `close` becomes idle after its response; nothing else would close it.
  const sweep = setInterval(() => {
    server.closeIdleConnections()
    // Browsers preconnect, and Node 24 counts connections without a request as busy.
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
  }, 50)
  const cut = setTimeout(() => {
    for (const socket of open) socket.destroy()
  }, grace)
  await closed
  clearInterval(sweep)
  clearTimeout(cut)
}
