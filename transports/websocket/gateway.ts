import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { stoppingError, TriviumError, toTriviumError } from '../../src/core/errors.ts'
import type { JsonObject } from '../../src/core/json.ts'
import type { Transport, TransportDeps } from '../../src/core/transport.ts'
import { LONGEST_TIMER } from '../../src/core/units.ts'
import { queryOf } from '../../src/lib/http.ts'
import { createInFlight } from '../../src/lib/in-flight.ts'
import { checkProtection } from '../options.ts'
import { conversationFor, createAuthenticator, type Peer, requireConversation } from './admission.ts'
import type { WebsocketOptions } from './config.ts'
import { type Admitted, type Connection, serveConnection, TRY_AGAIN_LATER } from './connection.ts'
import { createUnfinishedLimit, fragmentLimits } from './unfinished.ts'

/** Close code of RFC 6455 ("going away"). */
const GOING_AWAY = 1001
/** Close code of this transport for an expired token. */
const TOKEN_EXPIRED = 4401

/** When (s) a client that `max-connections` refused may try again. */
const RETRY_AFTER_SECONDS = 5

const SERVER_OPTIONS = {
  noServer: true,
  clientTracking: false,
  // Compression costs 300 KB per connection, and allows decompression bombs.
  perMessageDeflate: false,
  /** Timeout (ms) for the answer to a close frame. */
  closeTimeout: 2_000,
}

/**
 * Makes a WebSocket gateway. `stop` only ends receiving; `close` ends the connections.
 * `maxUnfinished`: maximum memory (bytes) for unfinished messages.
 */
export function createGateway(
  options: WebsocketOptions,
  deps: TransportDeps,
  maxUnfinished?: number,
): Transport {
  const { gateway } = deps
  const authenticate = createAuthenticator(options, deps)
  const inFlight = createInFlight()
  const protection = checkProtection(deps.http, 'tokens', verificationBy(options))
  const connections = new Set<Connection>()
  const server = new WebSocketServer({
    ...SERVER_OPTIONS,
    ...fragmentLimits(options['max-frame']),
    maxPayload: options['max-frame'],
  })
  const watchUnfinished = createUnfinishedLimit(maxUnfinished)
  let unmount: (() => void) | undefined
  let heartbeat: NodeJS.Timeout | undefined

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer) {
    try {
      // Checked again below. Also here, so that a flood of connections costs no reads of the store.
      requireConnectionsLeft(connections.size, options, gateway)
      const admitted = await admit(request, authenticate, deps)
      if (inFlight.isStopping()) throw stoppingError()
      requireConnectionsLeft(connections.size, options, gateway)
      server.handleUpgrade(request, socket, head, (webSocket) => {
        const connection = serveConnection(webSocket, admitted, options, inFlight, deps)
        connections.add(connection)
        closeAtExpiry(connection, admitted.peer, deps.now)
        watchUnfinished(socket, webSocket, () => {
          const why = 'too many unfinished messages'
          deps.refused('overloaded', { from: request.socket.remoteAddress, why })
          connection.close(TRY_AGAIN_LATER, `${why}; try again`)
          // Further data would be buffered too.
          socket.pause()
        })
        void connection.closed.then(() => connections.delete(connection))
      })
    } catch (error) {
      const { code, message: why } = toTriviumError(error)
      deps.refused(code, { from: request.socket.remoteAddress, why })
      throw error
    }
  }

  function show(conversation: string, frame: JsonObject) {
    for (const connection of connections) if (connection.conversation === conversation) connection.show(frame)
  }

  return {
    async start() {
      if (protection.warning && !deps.http.isLocal) deps.log.warn({ path: options.path }, protection.detail)
      unmount = deps.http.upgrade(options.path, upgrade)
      heartbeat = setInterval(() => {
        for (const connection of connections) connection.checkAlive()
      }, options.heartbeat).unref()
    },
    requireTarget: (to) => requireConversation(to, options.tokens, deps),
    send: (reply) => deps.replies.append(reply.to ?? reply.conversation, reply),
    stream: ({ conversation, inReplyTo, delta }) =>
      show(conversation, { type: 'delta', text: delta, inReplyTo }),
    progress: ({ conversation, inReplyTo, progress }) =>
      show(conversation, { type: 'progress', progress, inReplyTo }),
    stop: inFlight.stop,
    async close() {
      unmount?.()
      clearInterval(heartbeat)
      for (const connection of connections)
        connection.close(GOING_AWAY, 'the daemon is going away; reconnect')
      await Promise.all([...connections].map(({ closed }) => closed))
    },
    health: () =>
      unmount
        ? { ok: true, detail: `connections: ${connections.size}` }
        : { ok: false, detail: 'not started' },
    check: async () => [protection],
  }
}

/** Authenticates a client, and determines its conversation and the first reply to send. */
async function admit(
  request: IncomingMessage,
  authenticate: ReturnType<typeof createAuthenticator>,
  deps: TransportDeps,
): Promise<Admitted> {
  const query = queryOf(request)
  const peer = await authenticate(request, query)
  const conversation = await conversationFor(peer, query.get('conversation'), deps)
  const end = await deps.replies.end(conversation)
  // After the log was deleted, a client may ask for higher numbers than exist; it must not wait for
  // them.
  return { peer, conversation, after: Math.min(afterOf(query) ?? end, end), end }
}

function requireConnectionsLeft(
  count: number,
  { 'max-connections': limit }: WebsocketOptions,
  gateway: string,
): void {
  if (count < limit) return
  throw new TriviumError('overloaded', { what: `Gateway ${gateway}`, limit, seconds: RETRY_AFTER_SECONDS })
}

function verificationBy({ tokens, jwt }: WebsocketOptions): string | undefined {
  return tokens || jwt ? 'clients need a token' : undefined
}

const EXPIRED_REASON = 'the token has expired; reconnect with a new one and resume'

/**
 * Closes a connection when its token expires, even if that is later than the longest possible
 * timer.
 */
function closeAtExpiry(connection: Connection, { expiresAt }: Peer, now: () => number): void {
  if (expiresAt === undefined) return
  let timer: NodeJS.Timeout
  const closeOrWait = () => {
    const remaining = expiresAt - now()
    if (remaining <= 0) connection.close(TOKEN_EXPIRED, EXPIRED_REASON)
    else timer = setTimeout(closeOrWait, Math.min(remaining, LONGEST_TIMER)).unref()
  }
  closeOrWait()
  void connection.closed.then(() => clearTimeout(timer))
}

/** The number of the last reply that the client already has. */
function afterOf(query: URLSearchParams): number | undefined {
  const text = query.get('after')
  if (!text) return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new TriviumError('bad_request', { reason: 'after must be the seq of a reply' })
}
