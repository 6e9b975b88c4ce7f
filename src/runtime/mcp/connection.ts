import { isDeepStrictEqual } from 'node:util'
import type { Client, OAuthClientProvider } from '@modelcontextprotocol/client'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { type JsonObject, pathGet } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { McpFault, McpServer, McpStatus } from '../../core/mcp.ts'
import { loadPart } from '../../core/parts.ts'
import { backoff } from '../../lib/backoff.ts'
import { createLoop } from '../../lib/loop.ts'
import { inTime } from '../../lib/pause.ts'
import { listTools, type RemoteTool } from './tool-list.ts'
import { openWay } from './transport.ts'

export type McpConnection = ReturnType<typeof createMcpConnection>

export type ConnectionOptions = {
  server: McpServer
  version: string
  /** Its OAuth login, of a server over HTTP; undefined where there is none yet. */
  login?(): Promise<OAuthClientProvider | undefined>
  /** What it offers: after each connect, and whenever that changed. */
  listed(tools: RemoteTool[]): void
  log: Log
}

/** Ms: until it must have connected (a package may have to be downloaded), and have listed its tools. */
const [CONNECT_WITHIN, LIST_WITHIN] = [60_000, 30_000]
/** Ms between looks whether a server over HTTP, which has no connection to lose, is there and offers the same. */
const LOOK_EVERY = 60_000
/** After so long (ms) a connection counts as good, and the next failure as the first. */
const STEADY = 30_000
/** Ms between looks at tools that a server says have changed. */
const CHANGES_EVERY = 500
const BACKOFF = { first: 500, longest: 60_000 }
/** Ms that a call waits for a connection that is being made. */
const CALL_WAITS = 10_000
/** What the SDK is given where the skill's own deadline counts: it wants a number. */
const NEVER = 2 ** 31 - 1

/** The connection to one server, which is made again whenever it is lost, with longer and longer pauses. */
export function createMcpConnection(options: ConnectionOptions) {
  const { server } = options
  const log = options.log.child({ mcp: server.name })
  const ended = new AbortController()
  const isTold = Object.keys(server.headers ?? {}).some((name) => /^authorization$/i.test(name))
  const wanted = isTold ? 'it refuses the authorization in `headers`' : LOGIN
  let client: Client | undefined
  let state: McpStatus['state'] = 'connecting'
  let reason = 'it was not reached yet'
  let failures = 0
  let tools = 0
  let faults: McpFault[] = []
  let upSince = 0
  /** Settles after the attempt that runs. */
  let attempt = Promise.withResolvers<void>()
  /** What connections ended by: the next one may be there before a call learns that it was cut off. */
  const ends = new WeakMap<Client, string>()
  /** How many calls run, by the client that they were begun with. */
  const running = new Map<Client, number>()
  /** A server that knew the older protocol alone is not asked for the newer one again. */
  let isLegacy = false

  const lose = (lost: Client, why: string) => {
    if (!ends.has(lost)) ends.set(lost, why)
    if (client !== lost) return
    client = undefined
    if (performance.now() - upSince > STEADY) failures = 0
    fail(why)
    leave(lost)
    loop.wake()
  }
  /** Over HTTP each call has an answer of its own: that one was refused ends no other. */
  const leave = (lost: Client) => {
    if (server.url === undefined || !running.has(lost)) void lost.close().catch(() => {})
  }
  const count = (used: Client, more: 1 | -1) => {
    const calls = (running.get(used) ?? 0) + more
    if (calls > 0) return void running.set(used, calls)
    running.delete(used)
    if (used !== client) leave(used)
  }
  const fail = (why: string) => {
    const isNews = reason !== why
    state = why === LOGIN ? 'login' : 'down'
    reason = why
    failures += 1
    if (isNews && !ended.signal.aborted) log.warn({ reason: why }, 'an MCP server is lost')
  }
  const list = async (from: Client) => {
    const listed = await listTools(from, LIST_WITHIN)
    tools = listed.tools.length
    if (!isDeepStrictEqual(listed.faults, faults)) tellFaults(log, listed.faults)
    faults = listed.faults
    options.listed(listed.tools)
  }

  const open = async () => {
    const { Client } = await loadPart('mcp', () => import('@modelcontextprotocol/client'))
    const made: Client = new Client(
      { name: 'trivium', version: options.version },
      {
        jsonSchemaValidator: { getValidator: refuseSchema },
        versionNegotiation: { mode: 'auto', probe: { timeoutMs: 5_000 } },
        listChanged: {
          tools: {
            autoRefresh: false,
            debounceMs: 0,
            onChanged: atMostEvery(CHANGES_EVERY, () => {
              if (client === made) void list(made).catch((error) => lose(made, reasonOf(error)))
            }),
          },
        },
      },
    )
    const login = await options.login?.()
    const way = await openWay(server, {
      login,
      log,
      fault(why) {
        lose(made, why)
        void made.close().catch(() => {})
      },
    })
    made.onclose = () => lose(made, way.lastWords())
    try {
      const within = { timeout: CONNECT_WITHIN, signal: ended.signal }
      await made.connect(way.transport, { ...within, ...(isLegacy && { prior: { kind: 'legacy' } }) })
      isLegacy = made.getProtocolEra() === 'legacy'
      client = made
      await list(made)
      upSince = performance.now()
      state = 'up'
      const version = made.getNegotiatedProtocolVersion()
      reason = [made.getServerVersion()?.name, version].filter(Boolean).join(', ')
      log.info({ protocol: version, tools }, 'an MCP server is connected')
    } catch (error) {
      client = undefined
      await made.close().catch(() => {})
      throw new Error(way.explain(error), { cause: error })
    }
  }

  const step = async () => {
    if (client) {
      // Over stdio the end of the process says it.
      const now = client
      if (server.url !== undefined) await list(now).catch((error: unknown) => lose(now, reasonOf(error)))
    } else {
      try {
        await open()
      } catch (error) {
        const isRefused = (await kindOf(error)) === 'login'
        fail(isRefused ? wanted : reasonOf(error))
      }
      attempt.resolve()
      attempt = Promise.withResolvers()
    }
    if (!client) return backoff(failures, BACKOFF)
    return server.url === undefined ? undefined : LOOK_EVERY
  }
  const loop = createLoop({ step, failed: (err) => log.error({ err }, 'an MCP connection is stuck') })
  let isStarted = false
  const start = () => {
    if (!isStarted) loop.start()
    isStarted = true
  }
  const unavailable = () => {
    const todo = state === 'login' ? ` Run \`trivium mcp login ${server.name}\`.` : ''
    return new TriviumError('mcp_unavailable', { server: server.name, reason, todo })
  }
  const connected = async (signal: AbortSignal): Promise<Client> => {
    // Somebody waits: a server that is down, or that nobody needed so far, is tried now.
    start()
    if (!client) loop.wake()
    const late = AbortSignal.any([signal, ended.signal, AbortSignal.timeout(CALL_WAITS)])
    if (!client) await inTime(attempt.promise, late)
    if (!client) throw unavailable()
    return client
  }

  return {
    name: server.name,
    start,
    /** Resolves after the first attempt, however it ended. */
    tried: attempt.promise,
    /** Connects once, for who only wants to know: `status` says how it went. */
    once: step,
    /** Tries again at once, after a login. */
    wake: () => loop.wake(),
    status: (): McpStatus => ({
      name: server.name,
      at: server.url ?? server.command ?? '',
      ok: state === 'up',
      state,
      detail: state === 'login' ? `${reason}; run \`trivium mcp login ${server.name}\`` : reason,
      tools,
      ...(faults.length > 0 && { faults }),
    }),
    /**
     * Calls a tool. Throws `mcp_unavailable` where it surely did not run, `mcp_failed`, and `mcp_unknown` where one that is not
     * `repeatable` was cut off.
     */
    async call(
      tool: string,
      args: Record<string, unknown>,
      call: { signal: AbortSignal; repeatable: boolean; inputSchema?: JsonObject },
    ) {
      const { signal, inputSchema = {} } = call
      const values = { server: server.name, tool }
      const toolDefinition = { name: tool, inputSchema: { ...inputSchema, type: 'object' as const } }
      for (let tried = 0; ; tried++) {
        const used = await connected(signal)
        count(used, 1)
        try {
          return await used.callTool(
            { name: tool, arguments: args },
            { signal, timeout: NEVER, toolDefinition },
          )
        } catch (error) {
          if (signal.aborted) throw error
          const kind = await kindOf(error)
          // A server that began anew knows our session no more: it has not run anything.
          if (kind === 'session' && tried === 0) {
            lose(used, 'it forgot the session')
            continue
          }
          if (kind === 'answered')
            throw new TriviumError('mcp_failed', { ...values, reason: reasonOf(error) })
          lose(used, kind === 'login' ? wanted : reasonOf(error))
          if (kind !== 'lost') throw unavailable()
          const why = ends.get(used) ?? reasonOf(error)
          const code = call.repeatable ? 'mcp_failed' : 'mcp_unknown'
          throw new TriviumError(code, { ...values, reason: why }, { cause: error })
        } finally {
          count(used, -1)
        }
      }
    },
    async close() {
      ended.abort()
      const last = new Set([...(client ? [client] : []), ...running.keys()])
      client = undefined
      await Promise.all([loop.stop(), ...[...last].map((one) => one.close())])
    },
  }
}

const LOGIN = 'it wants a login'

/** Calls `work` after `ms`, once for all calls that came until then. */
function atMostEvery(ms: number, work: () => void): () => void {
  let isWaiting = false
  const end = () => {
    isWaiting = false
    work()
  }
  return () => {
    if (isWaiting) return
    isWaiting = true
    setTimeout(end, ms).unref()
  }
}

/** The library would run the patterns of a server's schema in the native engine. Nothing here lets it compile one. */
function refuseSchema(): never {
  throw new Error('no schema of a server is compiled by the library')
}

function tellFaults(log: Log, faults: readonly McpFault[]): void {
  const skipped = faults.filter((one) => one.skipped)
  const mended = faults.filter((one) => !one.skipped)
  if (skipped.length > 0) log.warn({ tools: skipped.map(faultText) }, 'tools of an MCP server are left out')
  if (mended.length > 0)
    log.info({ tools: mended.map(faultText) }, 'tools of an MCP server have odd definitions')
}

/** The name as JSON: it is the server's own text. */
const faultText = ({ tool, reason }: McpFault) => `${JSON.stringify(tool)}: ${reason}`

/** How a call failed: the server said so, it forgot us, it never got the call, or nobody knows. `login`: it wants to know who calls. */
async function kindOf(error: unknown): Promise<'answered' | 'session' | 'refused' | 'login' | 'lost'> {
  if (error instanceof TriviumError) return 'refused'
  const { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } = await import(
    '@modelcontextprotocol/client'
  )
  const cause = error instanceof Error ? error.cause : undefined
  const is = (kind: abstract new (...args: never[]) => Error) =>
    error instanceof kind || cause instanceof kind
  if (is(UnauthorizedError)) return 'login'
  const http = [error, cause].find((one) => one instanceof SdkHttpError)
  if (http) {
    if (http.status === 401) return 'login'
    // Some say 400 where the protocol says 404.
    if (http.status === 404 || (http.status === 400 && /session/i.test(http.message))) return 'session'
    return http.status < 500 ? 'refused' : 'lost'
  }
  if (is(ProtocolError)) return 'answered'
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.NotConnected) return 'refused'
    return error.code === SdkErrorCode.ConnectionClosed ? 'lost' : 'answered'
  }
  return /ECONNREFUSED|ENOTFOUND|EAI_AGAIN/.test(String(pathGet(error, 'cause.code'))) ? 'refused' : 'lost'
}
