import { createServer, type IncomingMessage, type Server, ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { TriviumError, toTriviumError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { PublicHttp } from '../core/transport.ts'

/** Limits of the public listener. All times in ms; each has a default fit for the open internet. */
export type PublicHttpOptions = {
  log: Log
  /** The whole head of a request must arrive within this time (slow-loris). Default 10 s. */
  headersTimeout?: number
  /** The whole request, body included, must arrive within this time. Default 60 s. */
  requestTimeout?: number
  /** How long an idle connection is kept; longer than the 60 s of common load balancers. Default 65 s. */
  keepAliveTimeout?: number
  /** Connections beyond this are refused at once. Default 10,000. */
  maxConnections?: number
  /** Largest request head in bytes. Default 16 KiB. */
  maxHeaderSize?: number
  /** How often the two timeouts are looked at. Default 1 s. */
  checkInterval?: number
}

/** The public listener with its life, for the daemon. */
export type PublicHttpServer = PublicHttp & {
  /**
   * Listens on `host:port`, `[ipv6]:port` or `:port`; port 0 picks a free one. Resolves with the address in use.
   * Throws `config_invalid` where the address is malformed, taken or not ours.
   */
  listen(address: string): Promise<{ host: string; port: number }>
  /**
   * Stops accepting connections and resolves when the requests in flight are answered, at most `grace` ms
   * (default 10 s) later; what is still open then is cut.
   */
  close(grace?: number): Promise<void>
  /** Open connections, WebSockets among them. */
  connections(): Promise<number>
}

type Handler = Parameters<PublicHttp['mount']>[1]
type UpgradeHandler = Parameters<PublicHttp['upgrade']>[1]

/**
 * Makes the one listener that all gateways share: bare node:http, where a request costs one map look-up
 * before its handler runs. Paths match exactly, without the query. What cannot be served is answered with
 * `{"error":{"code","message"}}`.
 */
export function createPublicHttp(options: PublicHttpOptions): PublicHttpServer {
  const mounts = new Map<string, Handler>()
  const upgrades = new Map<string, UpgradeHandler>()
  const open = new Set<Socket>()
  let draining = false
  let quietUntil = 0

  const server = createServer(
    {
      headersTimeout: options.headersTimeout ?? 10_000,
      requestTimeout: options.requestTimeout ?? 60_000,
      keepAliveTimeout: options.keepAliveTimeout ?? 65_000,
      maxHeaderSize: options.maxHeaderSize ?? 16_384,
      connectionsCheckingInterval: options.checkInterval ?? 1_000,
      // Checked below, where the answer says what is wrong.
      requireHostHeader: false,
      // Some clients offer `Upgrade: h2c` with every POST; only a WebSocket that we serve may leave HTTP.
      shouldUpgradeCallback: (request) => isWebSocket(request) && upgrades.has(pathOf(request.url)),
    },
    serve,
  )
  server.maxConnections = options.maxConnections ?? 10_000
  server.on('connection', (socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  server.on('upgrade', serveUpgrade)
  server.on('clientError', answerUnreadable)
  server.on('drop', warnOfDrop)

  /** A flood of connections must not become a flood of log lines. */
  function warnOfDrop() {
    if (performance.now() < quietUntil) return
    quietUntil = performance.now() + 10_000
    options.log.warn({ limit: server.maxConnections }, 'connections are refused: there are too many')
  }

  function serve(request: IncomingMessage, response: ServerResponse) {
    if (request.headers.host === undefined && request.httpVersion === '1.1')
      return refuseWithoutHost(response)
    const path = pathOf(request.url)
    const handler = mounts.get(path)
    if (draining) response.setHeader('connection', 'close')
    if (!handler) return void answerError(response, refusal(path))
    try {
      handler(request, response)
    } catch (error) {
      options.log.error({ err: error, path }, 'a request handler failed')
      answerError(response, toTriviumError(error))
    }
  }

  function refusal(path: string): TriviumError {
    if (draining) return stopping()
    return upgrades.has(path)
      ? new TriviumError('upgrade_required', { path })
      : new TriviumError('not_found', { path: path.slice(0, 200) })
  }

  function serveUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer) {
    // Between the handshake and the handler's own listener, a reset must not end the process.
    socket.on('error', (error) => options.log.debug({ err: error }, 'an upgraded connection broke'))
    const handler = upgrades.get(pathOf(request.url))
    if (!handler || draining) {
      return answerRaw(socket, 503, stopping())
    }
    try {
      handler(request, socket, head)
    } catch (error) {
      options.log.error({ err: error }, 'an upgrade handler failed')
      const failure = toTriviumError(error)
      answerRaw(socket, failure.status, failure)
    }
  }

  return {
    mount: (path, handler) => add(mounts, [mounts, upgrades], path, handler),
    upgrade: (path, handler) => add(upgrades, [mounts, upgrades], path, handler),
    listen: (address) => listen(server, address),
    connections: () =>
      new Promise((resolve, reject) =>
        server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
    close(grace = 10_000) {
      draining = true
      return drain(server, open, grace)
    },
  }
}

function stopping(): TriviumError {
  return new TriviumError('store_unavailable', { store: 'gateway', reason: 'the daemon is stopping' })
}

function add<T>(into: Map<string, T>, taken: Map<string, unknown>[], path: string, handler: T): () => void {
  if (taken.some((map) => map.has(path))) {
    throw new TriviumError('config_invalid', {
      details: `Two gateways listen at ${path}; give each its own path.`,
    })
  }
  into.set(path, handler)
  return () => {
    if (into.get(path) === handler) into.delete(path)
  }
}

async function listen(server: Server, address: string): Promise<{ host: string; port: number }> {
  const parsed = parseAddress(address)
  return await new Promise((resolve, reject) => {
    const failed = (error: Error) =>
      reject(
        new TriviumError(
          'config_invalid',
          { details: `Cannot listen on ${address}: ${error.message}. Free it, or set TRIVIUM_LISTEN.` },
          { cause: error },
        ),
      )
    server.once('error', failed)
    server.listen(parsed, () => {
      server.off('error', failed)
      const bound = server.address()
      if (bound === null || typeof bound === 'string') return failed(new Error('it is no TCP address'))
      resolve({ host: bound.address, port: bound.port })
    })
  })
}

const ADDRESS = /^(?:\[([0-9a-fA-F:.%]+)\]|([^:[\]]*)):(\d{1,5})$/

function parseAddress(address: string): { host?: string; port: number } {
  const match = ADDRESS.exec(address)
  const port = Number(match?.[3])
  if (!match || port > 65_535) {
    throw new TriviumError('config_invalid', {
      details: `${address} is no address to listen on; write it as 127.0.0.1:8080 or [::1]:8080.`,
    })
  }
  const host = match[1] || match[2]
  return host ? { host, port } : { port }
}

/** The path without the query; also of a request in absolute form (RFC 9112, 3.2.2). */
function pathOf(url = '/'): string {
  const query = url.indexOf('?')
  const target = query < 0 ? url : url.slice(0, query)
  if (target.charCodeAt(0) === 47) return target
  return URL.canParse(target) ? new URL(target).pathname : target
}

function isWebSocket(request: IncomingMessage): boolean {
  return request.method === 'GET' && request.headers.upgrade?.toLowerCase() === 'websocket'
}

function errorBody(error: TriviumError): string {
  return JSON.stringify({ error: { code: error.code, message: error.message } })
}

function answerError(response: ServerResponse, error: TriviumError) {
  if (response.headersSent) return void response.destroy()
  const body = errorBody(error)
  response.statusCode = error.status
  if (error.status === 426) response.setHeader('upgrade', 'websocket')
  response.setHeader('content-type', 'application/json')
  response.setHeader('content-length', Buffer.byteLength(body))
  response.end(body)
}

const UNREADABLE: Record<string, [status: number, reason: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'its header is too large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'its chunk extensions are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'it did not arrive in time'],
}

/** RFC 9112, 3.2: nobody knows what such a request means, nor what stands behind it. */
function refuseWithoutHost(response: ServerResponse) {
  response.setHeader('connection', 'close')
  answerError(response, new TriviumError('bad_request', { reason: 'it has no Host header' }))
}

function answerUnreadable(error: NodeJS.ErrnoException, socket: Duplex) {
  const waiting = unanswered(socket)
  // Answers stand in the order of the requests: what was read before the bad bytes is answered first.
  if (waiting) return void waiting.once('close', () => answerUnreadable(error, socket))
  const [status, reason] = UNREADABLE[error.code ?? ''] ?? [400, 'it is not valid HTTP']
  answerRaw(socket, status, new TriviumError('bad_request', { reason }))
}

/** The answer that a socket waits for to a request that was read whole, where there is one. */
function unanswered(socket: Duplex): ServerResponse | undefined {
  const current = '_httpMessage' in socket ? socket._httpMessage : undefined
  return current instanceof ServerResponse && current.req.complete && !current.closed ? current : undefined
}

/** Answers on a socket that has no ServerResponse, and hangs up. */
function answerRaw(socket: Duplex, status: number, error: TriviumError) {
  if (!socket.writable) return void socket.destroy()
  const body = errorBody(error)
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json\r\n`
  socket.end(`${head}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`, () =>
    socket.destroy(),
  )
}

function drain(server: Server, open: ReadonlySet<Socket>, grace: number): Promise<void> {
  if (!server.listening) return Promise.resolve()
  return new Promise((resolve) => {
    const endIdle = () => {
      server.closeIdleConnections()
      // Browsers connect in advance; Node 24 counts what has said nothing yet as busy.
      for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
    }
    // A connection that was busy at `close` turns idle when its answer is out; nothing else would end it.
    const sweep = setInterval(endIdle, 50)
    const cut = setTimeout(() => {
      for (const socket of open) socket.destroy()
    }, grace)
    server.close(() => {
      clearInterval(sweep)
      clearTimeout(cut)
      resolve()
    })
  })
}
