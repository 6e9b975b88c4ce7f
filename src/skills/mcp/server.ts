import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { CallToolRequestSchema, ListToolsRequestSchema, type Tool } from '@modelcontextprotocol/sdk/types.js'
import type { Caller } from '../../core/call.ts'
import { reasonOf, toTriviumError } from '../../core/errors.ts'
import { mayAskFor } from '../../core/identity.ts'
import { isJsonObject, type JsonObject, toJson } from '../../core/json.ts'
import type { SkillManager } from '../manager.ts'
import { toolSchema } from '../model/tools.ts'

type McpOptions = {
  /** The skill manager, or what a client of a running daemon knows. */
  manager: {
    list(): readonly { name: string; description: string }[]
    describe(name: string): { args: JsonObject }
    invoke: SkillManager['invoke']
    onChange: SkillManager['onChange']
  }
  version: string
  /** Who asks, and which of the skills are there for them. */
  caller: Caller
}

/** Clients give up on a call after 60 s; a wait must end before. */
const LONGEST_WAIT = 50_000
const DEFAULT_WAIT = 60_000

/** An MCP server with the skills as tools, for one connection. An error is a result with `{code, message}`. */
export function createMcpServer(options: McpOptions): Server {
  const { manager, caller } = options
  const info = { name: 'trivium', version: options.version }
  const server = new Server(info, { capabilities: { tools: { listChanged: true } } })
  let stopTelling: (() => void) | undefined
  server.oninitialized = () => {
    // A client that went away without a word: its close ends this.
    stopTelling = manager.onChange(() => void server.sendToolListChanged().catch(() => {}))
  }
  server.onclose = () => stopTelling?.()

  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: manager
      .list()
      .filter(({ name }) => mayAskFor(caller, name))
      .map(({ name, description }): Tool => {
        const schema = toolSchema(manager.describe(name).args)
        return { name, description, inputSchema: { ...schema, type: 'object' } }
      }),
  }))

  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const { name, arguments: args = {} } = params
    try {
      const value = toJson(await manager.invoke(name, patient(manager, name, args), { caller, signal }))
      return { content: [text(value)], ...(isJsonObject(value) ? { structuredContent: value } : {}) }
    } catch (error) {
      const { code } = toTriviumError(error)
      return { isError: true, content: [text({ error: { code, message: reasonOf(error) } })] }
    }
  })
  return server
}

/** Where a call does not say how long to wait and the skill would wait as long as clients do, it waits less. */
function patient(manager: McpOptions['manager'], name: string, args: Record<string, unknown>) {
  if (args.timeout !== undefined) return args
  const { properties } = manager.describe(name).args
  const timeout = isJsonObject(properties) ? properties.timeout : undefined
  const waits = isJsonObject(timeout) && timeout.default === DEFAULT_WAIT
  return waits ? { ...args, timeout: LONGEST_WAIT } : args
}

function text(value: unknown): { type: 'text'; text: string } {
  return { type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }
}

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
    /** Answers one request to `/mcp`, of which a `body` was read already. A session is for callers with the same rights. Never rejects. */
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
