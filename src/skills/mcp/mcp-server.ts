import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import {
  CallToolRequestSchema,
  type CallToolResult,
  ListToolsRequestSchema,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js'
import { reasonOf, TriviumError, toTriviumError } from '../../core/errors.ts'
import { isJsonObject, type JsonObject, toJson } from '../../core/json.ts'
import { type Caller, skillJsonSchema } from '../../core/skill.ts'
import type { SkillManager } from '../manager.ts'
import { createNameMatcher } from '../names.ts'

export type McpOptions = {
  manager: Pick<SkillManager, 'invoke' | 'list' | 'get'>
  version: string
  /** Who asks; default: `{ kind: 'mcp' }`, an operator. */
  caller?: Caller
  /** Names and globs of the skills that are offered. Default: all. */
  tools?: string | readonly string[]
  /** Names the client's own consumer groups over all of its calls; one per connection. */
  rootId: string
}

/** Clients give up on a call after 60 s; a wait must end before. */
const LONGEST_WAIT = 50_000
const DEFAULT_WAIT = 60_000
const PROGRESS_EVERY = 10_000

/**
 * A server of the Model Context Protocol with the permitted skills as tools. One per connection: `connect` it to
 * a transport. An error of a skill is a result with `isError` and `{code, message}`.
 */
export function createMcpServer(options: McpOptions): Server {
  const { manager, rootId, caller = { kind: 'mcp' } } = options
  const offered = createNameMatcher(options.tools ?? '*')
  const server = new Server({ name: 'trivium', version: options.version }, { capabilities: { tools: {} } })

  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: manager
      .list()
      .filter(({ name }) => offered.matches(name))
      .map(({ name, description }): Tool => ({ name, description, inputSchema: schemaOf(manager, name) })),
  }))

  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, sendNotification }) => {
    const { name, arguments: args = {} } = params
    const token = params._meta?.progressToken
    let beats = 0
    const beat = () => {
      beats += 1
      const progress = { progressToken: token ?? 0, progress: beats }
      // The client went away: the call's own signal ends it.
      sendNotification({ method: 'notifications/progress', params: progress }).catch(() => {})
    }
    const timer = token === undefined ? undefined : setInterval(beat, PROGRESS_EVERY)
    try {
      if (!offered.matches(name)) {
        throw new TriviumError('forbidden', { what: `Skill ${name}`, reason: 'it is not offered over MCP' })
      }
      const result = await manager.invoke(name, patient(manager, name, args), { caller, rootId, signal })
      return asResult(result)
    } catch (error) {
      const { code } = toTriviumError(error)
      return { isError: true, content: [text({ error: { code, message: reasonOf(error) } })] }
    } finally {
      clearInterval(timer)
    }
  })
  return server
}

function schemaOf(manager: McpOptions['manager'], name: string): Tool['inputSchema'] {
  const skill = manager.get(name)
  const schema: JsonObject = skill ? skillJsonSchema(skill) : {}
  return { ...schema, type: 'object' }
}

/** Where a call does not say how long to wait and the skill would wait as long as clients do, it waits less. */
function patient(manager: McpOptions['manager'], name: string, args: Record<string, unknown>): unknown {
  const { properties } = schemaOf(manager, name)
  const timeout = isJsonObject(properties) ? properties.timeout : undefined
  const waits = isJsonObject(timeout) && timeout.default === DEFAULT_WAIT
  return waits && args.timeout === undefined ? { ...args, timeout: LONGEST_WAIT } : args
}

function asResult(result: unknown): CallToolResult {
  const value = toJson(result)
  return { content: [text(value)], ...(isJsonObject(value) ? { structuredContent: value } : {}) }
}

function text(value: unknown): { type: 'text'; text: string } {
  return { type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }
}
