import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { CallToolRequestSchema, ListToolsRequestSchema, type Tool } from '@modelcontextprotocol/sdk/types.js'
import type { Caller } from '../../core/call.ts'
import { reasonOf, toTriviumError } from '../../core/errors.ts'
import { mayAskFor } from '../../core/identity.ts'
import { isJsonObject, type JsonObject, toJson } from '../../core/json.ts'
import type { SkillManager } from '../manager.ts'
import { toolSchema } from '../model/tools.ts'

export type McpOptions = {
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
