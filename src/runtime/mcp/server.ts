import { randomUUID } from 'node:crypto'
import { type CallToolResult, Server, type ServerContext } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Caller, ModelStep } from '../../core/call.ts'
import { errorBody, reasonOf, toTriviumError } from '../../core/errors.ts'
import { mayInvoke } from '../../core/identity.ts'
import { isJsonObject, objectAt, toJson } from '../../core/json.ts'
import { defined } from '../../lib/defined.ts'
import type { SkillManager } from '../manager.ts'
import { toolSchema } from '../model/tools.ts'
import type { Calls } from './calls.ts'
import { askWithinRequest } from './questions.ts'
import { type RunningCall, startCall } from './running-call.ts'

export type McpOptions = {
  manager: Pick<SkillManager, 'list' | 'describe' | 'invoke' | 'onChange'>
  version: string
  /** The caller, who determines the visible skills. */
  caller: Caller
  /** Calls that outlive their request, shared by all connections. */
  calls: Calls
  /** Ms after which a call becomes a task. Default: 5 s. */
  taskAfter?: number
}

/** Default `timeout` (ms) of skills that wait for something. */
const DEFAULT_WAIT = 60_000
/**
 * The wait (ms) in place of that default: clients give up after 60 s, and would miss the result.
 */
const SHORTER_WAIT = 50_000
/** Interval (ms) of progress notifications for running calls. */
const PROGRESS_INTERVAL = 10_000
/**
 * The extension for tasks. Long tool calls become tasks, if the client supports them
 * (https://modelcontextprotocol.io/extensions/tasks).
 */
const TASKS = 'io.modelcontextprotocol/tasks'
/** Default of `taskAfter`. */
const TASK_AFTER = 5_000
const taskParams = { params: z.object({ taskId: z.string() }) }

/**
 * An MCP server with skills as tools, for one connection or request. Errors are results with
 * `{code, message}`.
 */
export function createMcpServer(options: McpOptions): Server {
  const { manager, version, caller, calls, taskAfter = TASK_AFTER } = options
  const capabilities = { tools: { listChanged: true }, extensions: { [TASKS]: {} } }
  const server = new Server({ name: 'trivium', version }, { capabilities })
  let unsubscribe: (() => void) | undefined
  server.onclose = () => unsubscribe?.()

  server.setRequestHandler('tools/list', () => {
    // `onclose` ends it, even if the client disconnects without a word.
    unsubscribe ??= manager.onChange(() => void server.sendToolListChanged().catch(() => {}))
    const tools = manager
      .list()
      .filter(({ name }) => mayInvoke(caller, name))
      .map(({ name, description }) => {
        const { args, output, metadata } = manager.describe(name)
        const inputSchema = { ...toolSchema(args), type: 'object' as const }
        const annotations = objectAt(metadata, 'annotations')
        return { name, description, inputSchema, annotations, ...(output && { outputSchema: output }) }
      })
    return { tools }
  })

  const supportsTasks = () => server.getClientCapabilities()?.extensions?.[TASKS] !== undefined

  const begin = (
    name: string,
    given: Record<string, unknown>,
    mcpReq: ServerContext['mcpReq'],
  ): RunningCall => {
    // Tasks have no time limit.
    const args = supportsTasks() ? given : withShorterWait(manager, name, given)
    const canAsk = server.getClientCapabilities()?.elicitation !== undefined
    // In the older protocol, a question is a part of the request, and ends with it.
    const asksWithinRequest = mcpReq.envelope === undefined && !supportsTasks()
    return startCall(caller, async ({ signal, reportProgress, ...port }) => {
      const askUser = asksWithinRequest ? askWithinRequest(mcpReq, signal) : port.askUser
      const onModel = ({ tool }: ModelStep) => {
        if (tool !== undefined) reportProgress(`calls ${tool}`)
      }
      const rootId = `mcp-${randomUUID()}`
      try {
        const options = { caller, signal, rootId, onModel, ...(canAsk && { askUser }) }
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
    call.takeResponses(mcpReq.inputResponses)
    const { signal } = mcpReq
    const stopNotifying = notifyProgress(mcpReq, call)
    await call.wait(supportsTasks() ? AbortSignal.any([signal, AbortSignal.timeout(taskAfter)]) : signal)
    stopNotifying()
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
    calls.of(taskId, caller).takeResponses(mcpReq.inputResponses)
    return {}
  })
  server.setRequestHandler('tasks/cancel', taskParams, ({ taskId }) => {
    calls.of(taskId, caller).cancel()
    return {}
  })
  return server
}

/**
 * Sends progress notifications, if the client asked for them: when a model calls a tool, and every
 * few seconds. Returns a function that ends them.
 */
function notifyProgress(mcpReq: ServerContext['mcpReq'], call: RunningCall) {
  const progressToken = mcpReq._meta?.progressToken
  let progress = 0
  const notify = (message: string) => {
    if (progressToken === undefined) return
    progress += 1
    const params = { progressToken, progress, message }
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
  }
  call.listen(notify)
  const timer = setInterval(() => notify('it still runs'), PROGRESS_INTERVAL)
  return () => {
    call.listen(undefined)
    clearInterval(timer)
  }
}

/** Shortens the default wait of a skill to less than the timeout of clients. */
function withShorterWait(manager: McpOptions['manager'], name: string, args: Record<string, unknown>) {
  if (args.timeout !== undefined) return args
  const { properties } = manager.describe(name).args
  const timeout = isJsonObject(properties) ? properties.timeout : undefined
  const hasDefault = isJsonObject(timeout) && timeout.default === DEFAULT_WAIT
  return hasDefault ? { ...args, timeout: SHORTER_WAIT } : args
}

function failureOf(error: unknown): CallToolResult {
  const { code, details } = toTriviumError(error)
  const body = errorBody({ code, message: reasonOf(error), ...defined({ details }) })
  return { isError: true, content: [text(body)] }
}

function text(value: unknown): { type: 'text'; text: string } {
  return { type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }
}
