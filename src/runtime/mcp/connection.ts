import type { Client } from '@modelcontextprotocol/client'
import { reasonOf } from '../../core/errors.ts'
import { backoff } from '../../lib/backoff.ts'
import { createLoop } from '../../lib/loop.ts'
import { inTime } from '../../lib/pause.ts'
import { callTool, type ToolCallOptions } from './call-tool.ts'
import { createClientUses } from './client-uses.ts'
import { createConnectionStatus } from './connection-status.ts'
import { type ConnectionOptions, createCurrentClient } from './current-client.ts'
import { failureKind } from './failure-kind.ts'

export type McpConnection = ReturnType<typeof createMcpConnection>

/** Ms between looks whether a server over HTTP, which has no connection to lose, is there and offers the same. */
const LOOK_EVERY = 60_000
const BACKOFF = { first: 500, longest: 60_000 }
/** Ms that a call waits for a connection that is being made. */
const CALL_WAITS = 10_000

/** The connection to one server, which is made again whenever it is lost, with longer and longer pauses. */
export function createMcpConnection(options: ConnectionOptions) {
  const { server } = options
  const isHttp = server.url !== undefined
  const log = options.log.child({ mcp: server.name })
  const ended = new AbortController()
  const { signal: ending } = ended
  const status = createConnectionStatus(server, log)
  const uses = createClientUses(isHttp)
  const loop = createLoop({ step, failed: (err) => log.error({ err }, 'an MCP connection is stuck') })
  const current = createCurrentClient({ ...options, log }, { status, uses, signal: ending }, loop.wake)
  /** Settles after the attempt that runs. */
  let attempt = Promise.withResolvers<void>()
  let isStarted = false
  const { isCurrent, lose } = current
  const link = { server: server.name, status, uses, connected, isCurrent, lose }

  return {
    name: server.name,
    start,
    /** Resolves after the first attempt, however it ended. */
    tried: attempt.promise,
    /** Connects once, for who only wants to know: `status` says how it went. */
    once: step,
    /** Tries again at once, after a login. */
    wake: () => loop.wake(),
    status: status.read,
    /** See `callTool`. */
    call: (tool: string, args: Record<string, unknown>, call: ToolCallOptions) =>
      callTool(link, tool, args, call),
    async close() {
      ended.abort()
      const last = new Set(uses.clients())
      const client = current.drop()
      if (client) last.add(client)
      await Promise.all([loop.stop(), ...[...last].map((one) => one.close())])
    },
  }

  function start(): void {
    if (!isStarted) loop.start()
    isStarted = true
  }

  async function step(): Promise<number | undefined> {
    const client = current.get()
    // Over stdio the end of the process says it.
    if (client && isHttp) await current.refresh(client)
    if (!client) await tryOnce()
    if (!current.get()) return backoff(status.failures(), BACKOFF)
    return isHttp ? LOOK_EVERY : undefined
  }

  async function tryOnce(): Promise<void> {
    try {
      await current.open()
    } catch (error) {
      const isRefused = (await failureKind(error)) === 'login'
      status.down(isRefused ? status.loginReason : reasonOf(error), ending.aborted)
    }
    attempt.resolve()
    attempt = Promise.withResolvers()
  }

  async function connected(signal: AbortSignal): Promise<Client> {
    // A call needs the server: one that is down, or was not needed so far, is tried now.
    start()
    if (!current.get()) loop.wake()
    const late = AbortSignal.any([signal, ending, AbortSignal.timeout(CALL_WAITS)])
    if (!current.get()) await inTime(attempt.promise, late)
    const client = current.get()
    if (!client) throw status.unavailable()
    return client
  }
}
