import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { stoppingError, TriviumError, toTriviumError } from '../../src/core/errors.ts'
import type { Transport, TransportDeps } from '../../src/core/transport.ts'
import { formatDuration } from '../../src/core/units.ts'
import { createTokenBucket } from '../../src/lib/token-bucket.ts'
import { checkOpenDoor } from '../open-door.ts'
import { createAuthenticator, type Peer } from './authenticate.ts'
import type { WebsocketOptions } from './config.ts'
import { type Connection, serveConnection } from './connection.ts'
import { createConversationIds, loadKey } from './conversation-id.ts'
import { createInbound } from './inbound.ts'

/** A client that may come in: as whom, into which conversation, and which replies it has. */
type Admitted = { peer: Peer; conversation: string; after: number; end: number }

/** Makes one WebSocket gateway. Its connections end with `close`; `stop` only ends what comes in. */
export function createGateway(options: WebsocketOptions, deps: TransportDeps): Transport {
  const { gateway } = deps
  const rate = options['rate-limit']
  const authenticate = createAuthenticator(gateway, options, deps.http.isLocal)
  const inbound = createInbound(
    deps,
    rate === 'off' ? '' : `${rate.count} frames in ${formatDuration(rate.per)}`,
  )
  const door = options.tokens
    ? { name: 'tokens', ok: true, detail: 'clients need a token' }
    : checkOpenDoor(deps.http, 'tokens')
  const connections = new Set<Connection>()
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: options['max-frame'],
    // Compression costs 300 KB a connection and lets a small frame become a huge one.
    perMessageDeflate: false,
  })
  let stopping = false
  let unmount: (() => void) | undefined
  let heartbeat: NodeJS.Timeout | undefined

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer) {
    try {
      const admitted = await admit(request)
      requireRoom()
      server.handleUpgrade(request, socket, head, (webSocket) => serve(webSocket, admitted))
    } catch (error) {
      const { code, message: why } = toTriviumError(error)
      deps.refused(code, { from: request.socket.remoteAddress, why })
      throw error
    }
  }

  function serve(socket: WebSocket, admitted: Admitted) {
    const takeToken = createTokenBucket(rate, deps.now)
    const connection = serveConnection({ ...admitted, socket, inbound, takeToken, options, deps })
    connections.add(connection)
    void connection.ended.then(() => connections.delete(connection))
  }

  /** Decides whether a client gets in, as whom, into which conversation, and from which reply on. */
  async function admit(request: IncomingMessage): Promise<Admitted> {
    const query = queryOf(request.url)
    const peer = authenticate(request, query)
    requireRoom()
    const ids = createConversationIds(gateway, await loadKey(deps.kv, gateway))
    const wanted = query.get('conversation')
    const conversation = wanted ? ids.claim(wanted, peer.subject) : ids.create(peer.subject)
    const end = await deps.replies.end(conversation)
    // A client may know more than a log that was deleted; it must not wait for numbers that never come.
    return { peer, conversation, after: Math.min(afterOf(query) ?? end, end), end }
  }

  /** Asked before the store is, and once more when it has answered: others came meanwhile. */
  function requireRoom() {
    if (stopping) throw stoppingError()
    const limit = options['max-connections']
    if (connections.size < limit) return
    throw new TriviumError('overloaded', { what: `Gateway ${gateway}`, limit, seconds: 5 })
  }

  return {
    async start() {
      if (door.warning) deps.log.warn({ path: options.path }, door.detail)
      unmount = deps.http.upgrade(options.path, upgrade)
      heartbeat = setInterval(() => {
        for (const connection of connections) connection.beat()
      }, options.heartbeat).unref()
    },
    send: (reply) => deps.replies.append(reply.to ?? reply.conversation, reply),
    stream({ conversation, inReplyTo, delta }) {
      for (const connection of connections) {
        if (connection.conversation === conversation)
          connection.show({ type: 'delta', text: delta, inReplyTo })
      }
    },
    async stop() {
      stopping = true
      await inbound.stop()
    },
    async close() {
      unmount?.()
      clearInterval(heartbeat)
      for (const connection of connections) connection.close(1001, 'the daemon is going away; reconnect')
      await Promise.all([...connections].map(({ ended }) => ended))
    },
    health: () =>
      unmount
        ? { ok: true, detail: `connections: ${connections.size}` }
        : { ok: false, detail: 'not started' },
    check: async () => [door],
  }
}

function queryOf(url = ''): URLSearchParams {
  const start = url.indexOf('?')
  return new URLSearchParams(start < 0 ? '' : url.slice(start))
}

function afterOf(query: URLSearchParams): number | undefined {
  const text = query.get('after')
  if (text === null || text === '') return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new TriviumError('bad_request', { reason: 'after must be the seq of a reply' })
}
