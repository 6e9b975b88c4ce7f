import { randomBytes, randomUUID } from 'node:crypto'
import {
  createRequestStateCodec,
  inputRequired,
  inputResponse,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { Caller, ModelStep } from '../../core/call.ts'
import { reasonOf, toTriviumError } from '../../core/errors.ts'
import { isOperator, mayAskFor } from '../../core/identity.ts'
import { isJsonObject, type Json, type JsonObject, objectAt, toJson } from '../../core/json.ts'
import { defined } from '../../lib/defined.ts'
import { headOf } from '../../lib/head-of.ts'
import type { SkillManager } from '../manager.ts'
import { toolSchema } from '../model/tools.ts'

export type McpOptions = {
  /** The skill manager, or what a client of a running daemon knows. */
  manager: {
    list(): readonly { name: string; description: string }[]
    describe(name: string): { args: JsonObject; metadata?: JsonObject }
    invoke: SkillManager['invoke']
    onChange: SkillManager['onChange']
  }
  version: string
  /** Who asks, and which of the skills are there for them. */
  caller: Caller
  /** Whether a call that needs an approval asks the client's own person, where that one may decide. */
  asks: boolean
}

/** Clients give up on a call after 60 s; a wait must end before. */
const LONGEST_WAIT = 50_000
const DEFAULT_WAIT = 60_000
/** Ms between words that a call still runs, for clients that want to hear of its progress. */
const STILL_RUNNING = 10_000
/** Characters of the arguments in a question. */
const LONGEST_ARGS = 4_000

/** What a client brings back with the answer of its person. It is signed: nobody makes up an approval. */
const state = createRequestStateCodec<{ rootId: string; id: string }>({
  key: randomBytes(32),
  ttlSeconds: 86_400,
})

/** An MCP server with the skills as tools, for one connection or one request. An error is a result with `{code, message}`. */
export function createMcpServer(options: McpOptions): Server {
  const { manager, caller } = options
  const server = new Server(
    { name: 'trivium', version: options.version },
    { capabilities: { tools: { listChanged: true } }, requestState: { verify: state.verify } },
  )
  let stopTelling: (() => void) | undefined
  server.onclose = () => stopTelling?.()

  server.setRequestHandler('tools/list', () => {
    // A client that went away without a word: its close ends this.
    stopTelling ??= manager.onChange(() => void server.sendToolListChanged().catch(() => {}))
    const tools = manager
      .list()
      .filter(({ name }) => mayAskFor(caller, name))
      .map(({ name, description }) => {
        const { args, metadata } = manager.describe(name)
        const inputSchema = { ...toolSchema(args), type: 'object' as const }
        return { name, description, inputSchema, annotations: objectAt(metadata, 'annotations') }
      })
    return { tools }
  })

  server.setRequestHandler('tools/call', async ({ params }, ctx) => {
    const { name, arguments: args = {} } = params
    const progress = reportProgress(ctx)
    let waitsFor: Asked | undefined
    try {
      const rootId = (await decided(ctx)) ?? `mcp-${randomUUID()}`
      const park = (asked: Omit<Asked, 'rootId'>) => {
        waitsFor = { ...asked, rootId }
      }
      const parks = mayAsk() ? park : undefined
      const { signal } = ctx.mcpReq
      const given = { caller, signal, rootId, onModel: progress.step, ...defined({ parks }) }
      const value = toJson(await manager.invoke(name, patient(manager, name, args), given))
      return { content: [text(value)], ...(isJsonObject(value) ? { structuredContent: value } : {}) }
    } catch (error) {
      const { code } = toTriviumError(error)
      if (waitsFor && code === 'approval_pending') return await question(waitsFor)
      return { isError: true, content: [text({ error: { code, message: reasonOf(error) } })] }
    } finally {
      progress.end()
    }
  })

  /** Whoever decides must be allowed to, and the client must have a way to ask. */
  const mayAsk = (): boolean =>
    options.asks && isOperator(caller) && server.getClientCapabilities()?.elicitation !== undefined

  /** Hands on what the client's person decided. The call that it was about goes on under the id that this gives. */
  const decided = async ({ mcpReq }: ServerContext): Promise<string | undefined> => {
    const back = mcpReq.requestState<{ rootId: string; id: string }>()
    if (!back) return undefined
    const answer = inputResponse(mcpReq.inputResponses, QUESTION)
    const approve = answer.kind === 'elicit' && answer.action === 'accept' && answer.content?.approve === true
    await manager.invoke('approval-decide', { id: back.id, approve }, { caller }).catch((error: unknown) => {
      // Another was faster: that counts.
      if (toTriviumError(error).code !== 'approval_decided') throw error
    })
    return back.rootId
  }
  return server
}

/** An approval that a call waits for, and the id of the call that goes on with it. */
type Asked = { id: string; rootId: string; title: string; args: Json }

/** What the client's answer is told apart by. */
const QUESTION = 'approval'

async function question({ id, rootId, title, args }: Asked) {
  const elicitation = inputRequired.elicit({
    message: `${title}\n\n${headOf(JSON.stringify(args, null, 2), LONGEST_ARGS)}`,
    requestedSchema: {
      type: 'object',
      properties: { approve: { type: 'boolean', title: 'Approve', default: false } },
      required: ['approve'],
    },
  })
  const requestState = await state.mint({ id, rootId })
  return inputRequired({ requestState, inputRequests: { [QUESTION]: elicitation } })
}

/** Tells a client that wants to know what a call does: the tools of a model, and every few seconds that it still runs. */
function reportProgress({ mcpReq }: ServerContext) {
  const progressToken = mcpReq._meta?.progressToken
  let progress = 0
  const tell = (message: string) => {
    if (progressToken === undefined) return
    progress += 1
    const params = { progressToken, progress, message }
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
  }
  const timer = setInterval(() => tell('it still runs'), STILL_RUNNING)
  return {
    step({ tool }: ModelStep): void {
      if (tool !== undefined) tell(`calls ${tool}`)
    },
    end: () => clearInterval(timer),
  }
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
