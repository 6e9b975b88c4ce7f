import { randomUUID } from 'node:crypto'
import { type CallToolResult, Server, type ServerContext } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Caller, ModelStep } from '../../core/call.ts'
import { errorBody, reasonOf, toTriviumError } from '../../core/errors.ts'
import { mayAskFor } from '../../core/identity.ts'
import { isJsonObject, objectAt, toJson } from '../../core/json.ts'
import { defined } from '../../lib/defined.ts'
import type { SkillManager } from '../manager.ts'
import { toolSchema } from '../model/tools.ts'
import type { Calls } from './calls.ts'
import { asksWithin } from './questions.ts'
import { type RunningCall, startCall } from './running-call.ts'

export type McpOptions = {
  manager: Pick<SkillManager, 'list' | 'describe' | 'invoke' | 'onChange'>
  version: string
  /** The caller, who determines the visible skills. */
  caller: Caller
  /** Calls that outlive their request, shared by all connections. */
  calls: Calls
}

/** Clients time out after 60 s, so waits must end earlier. */
const LONGEST_WAIT = 50_000
const DEFAULT_WAIT = 60_000
/** Interval (ms) of progress notifications for running calls. */
const STILL_RUNNING = 10_000
/** Long tool calls become tasks for clients that support them (https://modelcontextprotocol.io/extensions/tasks). */
const TASKS = 'io.modelcontextprotocol/tasks'
/** Ms after which a call becomes a task. */
const SOON = 5_000
const taskParams = { params: z.object({ taskId: z.string() }) }

/** An MCP server with skills as tools, for one connection or request. Errors are results with `{code, message}`. */
export function createMcpServer({ manager, version, caller, calls }: McpOptions): Server {
  const capabilities = { tools: { listChanged: true }, extensions: { [TASKS]: {} } }
  const server = new Server({ name: 'trivium', version }, { capabilities })
  let stopTelling: (() => void) | undefined
  server.onclose = () => stopTelling?.()

  server.setRequestHandler('tools/list', () => {
    // If the client disconnected silently, its close ends this.
    stopTelling ??= manager.onChange(() => void server.sendToolListChanged().catch(() => {}))
    const tools = manager
      .list()
      .filter(({ name }) => mayAskFor(caller, name))
      .map(({ name, description }) => {
        const { args, output, metadata } = manager.describe(name)
        const inputSchema = { ...toolSchema(args), type: 'object' as const }
        const annotations = objectAt(metadata, 'annotations')
        return { name, description, inputSchema, annotations, ...(output && { outputSchema: output }) }
      })
    return { tools }
  })

  const knowsTasks = () => server.getClientCapabilities()?.extensions?.[TASKS] !== undefined

  const begin = (
    name: string,
    given: Record<string, unknown>,
    mcpReq: ServerContext['mcpReq'],
  ): RunningCall => {
    // Tasks have no time limit.
    const args = knowsTasks() ? given : patient(manager, name, given)
    const canAsk = server.getClientCapabilities()?.elicitation !== undefined
    // In the older protocol, a client asks its user during the request, and the question ends with it.
    const isWithin = mcpReq.envelope === undefined && !knowsTasks()
    return startCall(caller, async ({ signal, says, ...port }) => {
      const asks = isWithin ? asksWithin(mcpReq, signal) : port.asks
      const onModel = ({ tool }: ModelStep) => {
        if (tool !== undefined) says(`calls ${tool}`)
      }
      const rootId = `mcp-${randomUUID()}`
      try {
        const options = { caller, signal, rootId, onModel, ...(canAsk && { asks }) }
        const value = toJson(await manager.invoke(name, args, options))
        return { content: [text(value)], ...(isJsonObject(value) ? { structuredContent: value } : {}) }
      } catch (error) {
        return failureOf(error)
      }
    })
  }

  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const state = mcpReq.requestState<string>()
    const call =
      state === undefined ? begin(params.name, params.arguments ?? {}, mcpReq) : calls.of(state, caller)
    call.tell(mcpReq.inputResponses)
    const { signal } = mcpReq
    const endProgress = reportProgress(mcpReq, call)
    await call.wait(knowsTasks() ? AbortSignal.any([signal, AbortSignal.timeout(SOON)]) : signal)
    endProgress()
    if (signal.aborted) call.cancel()
    const result = call.result()
    if (result) {
      calls.end(call.id)
      return result
    }
    calls.keep(call)
    // The types only cover the core protocol.
    return call.question() ?? ({ ...call.task(), resultType: 'task' } as object as CallToolResult)
  })
  server.setRequestHandler('tasks/get', taskParams, ({ taskId }) => calls.of(taskId, caller).detail())
  server.setRequestHandler('tasks/update', taskParams, ({ taskId }, { mcpReq }) => {
    calls.of(taskId, caller).tell(mcpReq.inputResponses)
    return {}
  })
  server.setRequestHandler('tasks/cancel', taskParams, ({ taskId }) => {
    calls.of(taskId, caller).cancel()
    return {}
  })
  return server
}

/** Sends progress notifications if requested: the tools of a model, and every few seconds that the call still runs. */
function reportProgress(mcpReq: ServerContext['mcpReq'], call: RunningCall) {
  const progressToken = mcpReq._meta?.progressToken
  let progress = 0
  const tell = (message: string) => {
    if (progressToken === undefined) return
    progress += 1
    const params = { progressToken, progress, message }
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
  }
  call.listen(tell)
  const timer = setInterval(() => tell('it still runs'), STILL_RUNNING)
  return () => {
    call.listen(undefined)
    clearInterval(timer)
  }
}

/** Shortens the default wait of a skill to less than the timeout of clients. */
function patient(manager: McpOptions['manager'], name: string, args: Record<string, unknown>) {
  if (args.timeout !== undefined) return args
  const { properties } = manager.describe(name).args
  const timeout = isJsonObject(properties) ? properties.timeout : undefined
  const waits = isJsonObject(timeout) && timeout.default === DEFAULT_WAIT
  return waits ? { ...args, timeout: LONGEST_WAIT } : args
}

function failureOf(error: unknown): CallToolResult {
  const { code, details } = toTriviumError(error)
  const body = errorBody({ code, message: reasonOf(error), ...defined({ details }) })
  return { isError: true, content: [text(body)] }
}

function text(value: unknown): { type: 'text'; text: string } {
  return { type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }
}
