import type { JSONRPCMessage, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { reasonOf, TriviumError } from '../core/errors.ts'
import { pathGet } from '../core/json.ts'
import { loadPart } from '../core/parts.ts'
import type { Environs } from './command.ts'
import { connect } from './connection.ts'

/** Sends a message to the client. */
type Reply = (message: JSONRPCMessage) => void
/** A session of the older protocol with the daemon. */
type Session = { id?: string | undefined; version?: string | undefined }

/** The state between stdin and the daemon. */
type Bridge = {
  environs: Environs
  Transport: typeof StreamableHTTPClientTransport
  fetch: typeof globalThis.fetch
  /** Whether an error means that the daemon does not know the session. */
  isUnknownSession(error: unknown): boolean
  /** Connections to the daemon, by the id of their request. */
  open: Map<unknown, StreamableHTTPClientTransport>
  /**
   * The client's messages that started its session: `initialize` and `notifications/initialized`.
   * Empty in the current protocol.
   */
  handshake: JSONRPCMessage[]
  session: Session
  /** Settles once a lost session has been restarted. */
  renewal: Promise<void>
}

/**
 * Passes messages between stdin and `/mcp` of the daemon until stdin ends. Finds the daemon for
 * each message, so it survives a restart, and then restarts sessions of the older protocol. Throws
 * if no daemon is running at the start.
 */
export async function serveMcp(environs: Environs): Promise<void> {
  await connect(environs)
  // Loaded on first use, because the help loads every command.
  const client = await loadPart('mcp', () => import('@modelcontextprotocol/client'))
  const { StdioServerTransport } = await import('@modelcontextprotocol/server/stdio')
  const { Agent, fetch } = await import('undici')
  // A call may take longer than fetch's five minutes.
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 })
  const bridge: Bridge = {
    environs,
    Transport: client.StreamableHTTPClientTransport,
    // The types of the DOM and of undici differ, but not in what is used here.
    fetch: ((input: string, init: object) =>
      fetch(input, { ...init, dispatcher })) as unknown as typeof globalThis.fetch,
    isUnknownSession: (error) => error instanceof client.SdkHttpError && error.status === 404,
    open: new Map(),
    handshake: [],
    session: {},
    renewal: Promise.resolve(),
  }
  const stdio = new StdioServerTransport()
  stdio.onmessage = (message) => void handleMessage(bridge, message, (answer) => void stdio.send(answer))
  const ended = new Promise<void>((resolve) => process.stdin.once('end', resolve))
  await stdio.start()
  await ended
  for (const transport of bridge.open.values()) await transport.close()
  await dispatcher.destroy()
}

/** Handles one message of the client, and sends it the answer or error. */
async function handleMessage(bridge: Bridge, message: JSONRPCMessage, reply: Reply): Promise<void> {
  const method = pathGet(message, 'method')
  if (method === 'initialize') bridge.handshake = []
  if (method === 'initialize' || method === 'notifications/initialized') bridge.handshake.push(message)
  // In the current protocol, a request is cancelled by closing its connection.
  if (method === 'notifications/cancelled' && bridge.handshake.length === 0)
    return bridge.open.get(pathGet(message, 'params.requestId'))?.close()
  try {
    // If the renewal has failed, the message that began it reports the error.
    await bridge.renewal.catch(() => {})
    const used = bridge.session
    await forward(bridge, message, reply, used).catch(async (error: unknown) => {
      const isRenewable = bridge.handshake.length > 0 && method !== 'initialize'
      if (!bridge.isUnknownSession(error) || !isRenewable) throw error
      await renew(bridge, used)
      await forward(bridge, message, reply, bridge.session)
    })
  } catch (error) {
    if (!('method' in message && 'id' in message)) return
    reply({ jsonrpc: '2.0', id: message.id, error: { code: -32000, message: reasonOf(error) } })
  }
}

/** Passes one message to the daemon. Resolves once a request is answered; rejects if it is not. */
async function forward(
  bridge: Bridge,
  message: JSONRPCMessage,
  reply: Reply,
  session: Session,
): Promise<void> {
  const transport = await transportOf(bridge, session)
  const id = 'method' in message && 'id' in message ? message.id : undefined
  const answered = Promise.withResolvers<void>()
  if (id === undefined) answered.resolve()
  // Sending may fail before anything waits for the answer.
  answered.promise.catch(() => {})
  transport.onmessage = (answer) => {
    const isAnswer = !('method' in answer) && answer.id === id
    if (isAnswer && pathGet(message, 'method') === 'initialize')
      bridge.session = { id: transport.sessionId, version: String(pathGet(answer, 'result.protocolVersion')) }
    reply(answer)
    if (isAnswer) answered.resolve()
  }
  const reason = 'the connection to the daemon was lost; the call may have run'
  transport.onerror = (cause) =>
    answered.reject(new TriviumError('cancelled', { what: 'The call', reason }, { cause }))
  await transport.start()
  if (session.version) transport.setProtocolVersion(session.version)
  bridge.open.set(id ?? transport, transport)
  try {
    await transport.send(message)
    await answered.promise
  } finally {
    bridge.open.delete(id ?? transport)
    // This connection stays open: the daemon sends its own messages on it.
    if (pathGet(message, 'method') !== 'notifications/initialized') await transport.close()
  }
}

async function transportOf({ environs, Transport, fetch }: Bridge, { id }: Session) {
  const { url, headers } = (await connect(environs)).mcp
  return new Transport(new URL(url), {
    requestInit: { headers },
    reconnectionOptions: {
      maxRetries: 0,
      initialReconnectionDelay: 0,
      maxReconnectionDelay: 0,
      reconnectionDelayGrowFactor: 1,
    },
    fetch,
    ...(id === undefined ? {} : { sessionId: id }),
  })
}

/** Restarts a lost session, once for all messages that were refused. */
function renew(bridge: Bridge, lost: Session): Promise<void> {
  if (bridge.session === lost) bridge.renewal = startSession(bridge, lost)
  return bridge.renewal
}

async function startSession(bridge: Bridge, lost: Session): Promise<void> {
  try {
    bridge.session = {}
    for (const message of bridge.handshake) await forward(bridge, message, () => {}, bridge.session)
  } catch (error) {
    // The next message tries again.
    bridge.session = lost
    throw error
  }
}
