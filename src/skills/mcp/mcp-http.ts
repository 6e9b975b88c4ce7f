import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Caller } from '../../core/call.ts'
import { reasonOf } from '../../core/errors.ts'
import { createMcpServer, type McpOptions } from './mcp-server.ts'

export type McpHttp = ReturnType<typeof createMcpHttp>

/** A session that was not used for that long is forgotten. */
const IDLE = 30 * 60_000

type Session = {
  caller: Caller
  transport: StreamableHTTPServerTransport
  running: number
  idle?: NodeJS.Timeout
}

/** MCP over streamable HTTP. Sessions live in this process: a client that reaches another daemon is told 404 and begins anew. */
export function createMcpHttp(options: Omit<McpOptions, 'caller'>) {
  const sessions = new Map<string, Session>()

  const open = async (caller: Caller): Promise<Session> => {
    const id = randomUUID()
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessioninitialized: () => {
        sessions.set(id, session)
      },
    })
    const session: Session = { caller, transport, running: 0 }
    transport.onclose = () => sessions.delete(id)
    await createMcpServer({ ...options, caller }).connect(transport)
    return session
  }

  return {
    /**
     * Answers one request to `/mcp`: POST, GET or DELETE. `body` is the parsed JSON body where a framework has
     * read it already. `caller` is whose token was checked; a session belongs to one with the same rights. Never rejects.
     */
    async handle(request: IncomingMessage, response: ServerResponse, caller: Caller, body?: unknown) {
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
        if (session.running === 0)
          session.idle = setTimeout(() => void session.transport.close(), IDLE).unref()
      })
      try {
        await session.transport.handleRequest(request, response, body)
      } catch (error) {
        if (response.headersSent) response.destroy()
        else refuse(response, 500, reasonOf(error))
      }
    },
    async close() {
      await Promise.all([...sessions.values()].map(({ transport }) => transport.close()))
    },
  }
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32000, message }, id: null }))
}
