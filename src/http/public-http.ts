import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { errorBody, stoppingError, TriviumError, toTriviumError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { RequestHandler, UpgradeHandler } from '../core/transport.ts'
import { answerJson, isLoopback, logRequests, peerOf } from '../lib/http.ts'
import { createRareLog } from '../lib/log-rarely.ts'
import type { Missed } from './missed.ts'
import { createBodyReader } from './read-body.ts'
import { WholeRequest } from './whole-request.ts'

/** Limits fit for the open internet; times in ms. */
const LIMITS = {
  /** The whole head of a request must arrive within this time (slow-loris), and the whole request within the next. */
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  /** How often the two are looked at. */
  connectionsCheckingInterval: 1_000,
  /** How long an idle connection is kept; longer than the 60 s of common load balancers. */
  keepAliveTimeout: 65_000,
  /** Connections beyond this are refused at once. */
  maxConnections: 10_000,
}

/** `host`: where it is going to listen. `bodies`: the most bytes of unfinished bodies. `each`: logs each request, at debug. */
export type PublicHttpOptions = {
  log: Log
  host?: string
  bodies?: number
  each?: boolean
  publicUrl?(): string | undefined
  /** Hears of requests for a path that no gateway has; not of the pages that scanners and browsers look for. */
  missed?: Missed
} & Partial<typeof LIMITS>

/** What is served at a path: requests, or WebSockets. */
type Entry = { mount?: RequestHandler; upgrade?: UpgradeHandler }

/** Makes the one listener that all gateways share: bare node:http, one map look-up by the exact path, without the query. */
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
      // Some clients offer `Upgrade: h2c` with every POST; only a WebSocket that we serve may leave HTTP.
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

  /** The gateway that refuses tells of it. */
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
      // `Promise.try` would make two more promises for each request.
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
    // Between the handshake and the handler's own listener, a reset must not end the process.
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
    /** Resolves with the address in use. Throws `cannot_listen` where it is taken or not ours. */
    listen: (address: Address) => listenOn(server, address, 'TRIVIUM_LISTEN'),
    isListening: () => server.listening,
    /** Open connections, WebSockets among them. */
    connections: () => open.size,
    /** From now on each answer asks its client to connect anew, which may reach another daemon. All is served as before. */
    leave() {
      leaving = true
    },
    /** Stops listening, and resolves when what is in flight is answered; after `grace` ms it is cut. */
    close(grace = 10_000) {
      leaving = true
      return drain(server, open, grace)
    },
  }
}

/** The path without the query; also of a request in absolute form (RFC 9112, 3.2.2). */
function pathOf(url = '/'): string {
  const query = url.indexOf('?')
  const target = query < 0 ? url : url.slice(0, query)
  if (target.startsWith('/')) return target
  return URL.canParse(target) ? new URL(target).pathname : target
}

/** How long (ms) a refused sender may go on. */
const LINGER = 5_000

/** Refuses a request of which the rest may still be on its way. A backlog shrinks soon, a store needs longer. */
function answerError(response: ServerResponse, error: TriviumError) {
  if (response.headersSent) return void response.destroy()
  const { req: request } = response
  if (!request.complete) {
    // A sender in the middle of its body gets to read the answer, and may not go on for ever.
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

/** `host:port`, with brackets around an IPv6 address. */
export function textOf({ host, port }: Address): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Resolves with the address in use (port 0 picks one). Throws `cannot_listen`; `setting`: where another is chosen. */
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
  // A connection that was busy at `close` turns idle when its answer is out; nothing else would end it.
  const sweep = setInterval(() => {
    server.closeIdleConnections()
    // Browsers connect in advance; Node 24 counts what has said nothing yet as busy.
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
  }, 50)
  const cut = setTimeout(() => {
    for (const socket of open) socket.destroy()
  }, grace)
  await closed
  clearInterval(sweep)
  clearTimeout(cut)
}
