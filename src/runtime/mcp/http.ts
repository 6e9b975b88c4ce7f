import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node'
import { type AuthInfo, createMcpHandler, isLegacyRequest } from '@modelcontextprotocol/server'
import type { Caller } from '../../core/call.ts'
import { reasonOf } from '../../core/errors.ts'
import { createCalls } from './calls.ts'
import { createMcpServer, type McpOptions } from './server.ts'

export type McpHttp = ReturnType<typeof createMcpHttp>

/** Idle timeout (ms) of a session. */
const IDLE = 30 * 60_000
/** Maximum sessions per caller; a further one ends the oldest, preferably an idle one. */
const MOST_SESSIONS = 200

type Session = {
  caller: Caller
  transport: NodeStreamableHTTPServerTransport
  running: number
  idle?: NodeJS.Timeout
}

/**
 * MCP over streamable HTTP. In the current protocol each request is independent. Sessions of older clients exist only in this
 * process: on another daemon they get 404 and start over.
 */
export function createMcpHttp(given: Omit<McpOptions, 'caller' | 'calls'>) {
  const calls = createCalls()
  const options = { ...given, calls }
  const sessions = new Map<string, Session>()
  /** The caller of a request, by the AuthInfo that the library passes on. */
  const callers = new WeakMap<AuthInfo, Caller>()
  const stateless = createMcpHandler(
    ({ authInfo }) => {
      const caller = authInfo && callers.get(authInfo)
      if (!caller) throw new Error('nobody knows who calls')
      return createMcpServer({ ...options, caller })
    },
    { legacy: 'reject' },
  )
  const answer = toNodeHandler(stateless)
  const stopTelling = given.manager.onChange(() => stateless.notify.toolsChanged())

  const open = async (caller: Caller): Promise<Session> => {
    const id = randomUUID()
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessioninitialized: () => {
        const mine = [...sessions.values()].filter((one) => one.caller.id === caller.id)
        const oldest = mine.find(({ running }) => running === 0) ?? mine[0]
        if (oldest && mine.length >= MOST_SESSIONS) void oldest.transport.close()
        sessions.set(id, session)
      },
    })
    const session: Session = { caller, transport, running: 0 }
    transport.onclose = () => sessions.delete(id)
    await createMcpServer({ ...options, caller }).connect(transport)
    return session
  }

  /** Handles a request of an older protocol. A session belongs to callers with the same rights. */
  const inSession = async (
    request: IncomingMessage,
    response: ServerResponse,
    caller: Caller,
    body: unknown,
  ) => {
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
      // The first request was not a valid start.
      const stays = session.transport.sessionId === undefined ? 0 : IDLE
      session.idle = setTimeout(() => void session.transport.close(), stays).unref()
    })
    await session.transport.handleRequest(request, response, body)
  }

  return {
    /** Answers a request to `/mcp` whose `body` was already read. Never rejects. */
    async handle(request: IncomingMessage, response: ServerResponse, caller: Caller, body: unknown) {
      try {
        const auth: AuthInfo = { token: '', clientId: caller.id ?? '', scopes: [] }
        callers.set(auth, caller)
        const { method = 'GET', url = '/' } = request
        const asked = Object.assign(request, { method, url, auth })
        const content = method === 'POST' ? body : undefined
        const isOlder =
          method !== 'POST' || (await isLegacyRequest(await toWebRequest(asked, content), content))
        if (isOlder) await inSession(request, response, caller, content)
        else await answer(asked, response, content)
      } catch (error) {
        if (response.headersSent) response.destroy()
        else refuse(response, 500, reasonOf(error))
      }
    },
    async close() {
      stopTelling()
      calls.close()
      const all = [...sessions.values()].map(({ transport }) => transport.close())
      await Promise.all([stateless.close(), ...all])
    },
  }
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32000, message }, id: null }))
}
