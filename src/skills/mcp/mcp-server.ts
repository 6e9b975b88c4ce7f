import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import {
  CallToolRequestSchema,
  type CallToolResult,
  ListToolsRequestSchema,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js'
import { reasonOf, TriviumError, toTriviumError } from '../../core/errors.ts'
import { isJsonObject, type JsonObject, toJson } from '../../core/json.ts'
import type { Caller, InvokeOptions } from '../../core/skill.ts'
import { isCallbackName } from '../callback-skill.ts'
import { createNameMatcher } from '../names.ts'
import { toolSchema } from '../tool-schema.ts'

/** What MCP needs of the skills: a SkillManager, or a client of a running daemon. */
export type McpSkills = {
  /** With `args` (JSON Schema) a skill need not be described one by one. */
  list(): MaybePromise<readonly { name: string; description: string; args?: JsonObject }[]>
  describe(name: string): MaybePromise<{ args: JsonObject }>
  invoke(name: string, args: unknown, options: InvokeOptions): Promise<unknown>
  /** Tells of changes to the list, where it can; clients are told of them. */
  onChange?(listener: () => void): () => void
}

type MaybePromise<T> = T | Promise<T>

export type McpOptions = {
  manager: McpSkills
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
  const tools = manager.onChange ? { listChanged: true } : {}
  const server = new Server({ name: 'trivium', version: options.version }, { capabilities: { tools } })
  let stopTelling: (() => void) | undefined
  server.oninitialized = () => {
    // A client that went away without a word: its close ends this.
    stopTelling = manager.onChange?.(() => void server.sendToolListChanged().catch(() => {}))
  }
  server.onclose = () => stopTelling?.()

  server.setRequestHandler(ListToolsRequestSchema, async () => {
    const skills = (await manager.list()).filter(({ name }) => offered.matches(name))
    const tools = skills.map(async ({ name, description, args }): Promise<Tool> => {
      const schema = args ?? (await manager.describe(name)).args
      return { name, description, inputSchema: { ...toolSchema(schema), type: 'object' } }
    })
    return { tools: await Promise.all(tools) }
  })

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
      const given = await patient(manager, name, args)
      const result = await manager.invoke(name, given, { caller, rootId, signal })
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

/** Where a call does not say how long to wait and the skill would wait as long as clients do, it waits less. */
async function patient(
  manager: McpSkills,
  name: string,
  args: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  if (args.timeout !== undefined || isCallbackName(name)) return args
  const { properties } = (await manager.describe(name)).args
  const timeout = isJsonObject(properties) ? properties.timeout : undefined
  const waits = isJsonObject(timeout) && timeout.default === DEFAULT_WAIT
  return waits ? { ...args, timeout: LONGEST_WAIT } : args
}

function asResult(result: unknown): CallToolResult {
  const value = toJson(result)
  return { content: [text(value)], ...(isJsonObject(value) ? { structuredContent: value } : {}) }
}

function text(value: unknown): { type: 'text'; text: string } {
  return { type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }
}
