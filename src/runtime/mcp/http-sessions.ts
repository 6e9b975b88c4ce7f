import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node'
import type { Caller } from '../../core/call.ts'
import { MINUTE } from '../../core/units.ts'
import { createMcpServer, type McpOptions } from './server.ts'

/** Idle timeout (ms) of a session. */
const IDLE_TIMEOUT = 30 * MINUTE
/**
 * Maximum number of sessions per caller. A new one ends the oldest idle one, or else the oldest.
 */
const MAX_SESSIONS = 200

type Session = {
  caller: Caller
  transport: NodeStreamableHTTPServerTransport
  /** Number of running requests. */
  running: number
  idle?: NodeJS.Timeout
}

/**
 * The sessions of clients with an older protocol. They exist only in this process: on another
 * daemon they get 404 and start over.
 */
export function createSessions(options: Omit<McpOptions, 'caller'>) {
  const sessions = new Map<string, Session>()

  const open = async (caller: Caller): Promise<Session> => {
    const id = randomUUID()
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessioninitialized: () => {
        const ofCaller = [...sessions.values()].filter((one) => one.caller.id === caller.id)
        const oldest = ofCaller.find(({ running }) => running === 0) ?? ofCaller[0]
        if (oldest && ofCaller.length >= MAX_SESSIONS) void oldest.transport.close()
        sessions.set(id, session)
      },
    })
    const session: Session = { caller, transport, running: 0 }
    transport.onclose = () => sessions.delete(id)
    await createMcpServer({ ...options, caller }).connect(transport)
    return session
  }

  return {
    /** Handles a request. Only the caller of a session, with the same rights, may use it. */
    async handle(
      request: IncomingMessage,
      response: ServerResponse,
      caller: Caller,
      body: unknown,
    ): Promise<void> {
      const id = request.headers['mcp-session-id']
      const named = typeof id === 'string' ? sessions.get(id) : undefined
      const known = isDeepStrictEqual(named?.caller, caller) ? named : undefined
      if (id !== undefined && !known) return refuse(response, 404, 'Session not found')
      if (!known && request.method !== 'POST') return refuse(response, 400, 'Initialize a session first')
      const session = known ?? (await open(caller))
      session.running += 1
      clearTimeout(session.idle)
      response.once('close', () => {
        session.running -= 1
        if (session.running > 0) return
        const isInitialized = session.transport.sessionId !== undefined
        const closeAfter = isInitialized ? IDLE_TIMEOUT : 0
        session.idle = setTimeout(() => void session.transport.close(), closeAfter).unref()
      })
      await session.transport.handleRequest(request, response, body)
    },
    async close(): Promise<void> {
      await Promise.all([...sessions.values()].map(({ transport }) => transport.close()))
    },
  }
}

/** Answers with an error of JSON-RPC. */
export function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32000, message }, id: null }))
}
