import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { stoppingError, TriviumError, toTriviumError } from '../../src/core/errors.ts'
import type { Transport, TransportDeps } from '../../src/core/transport.ts'
import { formatDuration } from '../../src/core/units.ts'
import { createTokenBucket } from '../../src/lib/token-bucket.ts'
import { checkOpenDoor } from '../open-door.ts'
import { chooseProtocol, createAuthenticator, type Peer } from './authenticate.ts'
import type { WebsocketOptions } from './config.ts'
import { type Connection, serveConnection } from './connection.ts'
import { type ConversationIds, createConversationIds, loadKey } from './conversation-id.ts'
import { createInbound } from './inbound.ts'

/** A client that may come in: as whom, into which conversation, and which replies it has. */
type Admitted = { peer: Peer; conversation: string; after: number }

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
    handleProtocols: chooseProtocol,
  })
  let arriving = 0
  let stopping = false
  let unmount: (() => void) | undefined
  let heartbeat: NodeJS.Timeout | undefined
  let ids: Promise<ConversationIds> | undefined
  let lastEnded: (() => void) | undefined

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer) {
    arriving++
    try {
      const admitted = await admit(request)
      if (stopping) throw stoppingError()
      server.handleUpgrade(request, socket, head, (webSocket) => serve(webSocket, admitted))
    } catch (error) {
      deps.refused(toTriviumError(error).code)
      throw error
    } finally {
      arriving--
    }
  }

  function serve(socket: WebSocket, admitted: Admitted) {
    const takeToken = createTokenBucket(rate, deps.now)
    const connection = serveConnection({ ...admitted, socket, inbound, takeToken, options, deps, ended })
    connections.add(connection)

    function ended() {
      connections.delete(connection)
      if (connections.size === 0) lastEnded?.()
    }
  }

  /** Decides whether a client gets in, as whom, into which conversation, and from which reply on. */
  async function admit(request: IncomingMessage): Promise<Admitted> {
    if (stopping) throw stoppingError()
    const query = queryOf(request.url)
    const peer = authenticate(request, query)
    const limit = options['max-connections']
    if (connections.size + arriving > limit) {
      throw new TriviumError('overloaded', { what: `Gateway ${gateway}`, limit, seconds: 5 })
    }
    const conversation = await conversationOf(query, peer)
    const end = await deps.replies.end(conversation)
    // A client may know more than a log that was deleted; it must not wait for numbers that never come.
    return { peer, conversation, after: Math.min(afterOf(query) ?? end, end) }
  }

  async function conversationOf(query: URLSearchParams, peer: Peer): Promise<string> {
    ids ??= loadKey(deps.kv, gateway).then((key) => createConversationIds(gateway, key))
    // A store that was away for the first client must not shut out the second.
    const known = await ids.catch((error: unknown) => {
      ids = undefined
      throw error
    })
    const wanted = query.get('conversation')
    return wanted ? known.claim(wanted, peer.subject) : known.create(peer.subject)
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
      if (connections.size === 0) return
      const { promise, resolve } = Promise.withResolvers<void>()
      lastEnded = resolve
      for (const connection of connections) connection.close(1001, 'the daemon is going away; reconnect')
      await promise
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
