import type { Client } from '@modelcontextprotocol/client'
import { reasonOf } from '../../core/errors.ts'
import { createLoop } from '../../lib/loop.ts'
import { inTime } from '../../lib/pause.ts'
import { callTool, type ToolCallOptions } from './call-tool.ts'
import { createClientUses } from './client-uses.ts'
import { createConnectionStatus } from './connection-status.ts'
import { type ConnectionOptions, createCurrentClient } from './current-client.ts'
import { failureKind } from './failure-kind.ts'
import { createRetryTime } from './retry-time.ts'

export type McpConnection = ReturnType<typeof createMcpConnection>

/**
 * Interval (ms) between checks of a server over HTTP. It has no permanent connection, so nothing
 * else would notice its end.
 */
const CHECK_INTERVAL = 60_000
/** How long (ms) a call waits for a connection attempt. */
const MAX_WAIT_OF_CALL = 10_000

/** The connection to one server. If it is lost, it is opened again, with exponential backoff. */
export function createMcpConnection(options: ConnectionOptions) {
  const { server } = options
  const isHttp = server.url !== undefined
  const log = options.log.child({ mcp: server.name })
  const ended = new AbortController()
  const { signal: ending } = ended
  const status = createConnectionStatus(server, log)
  const uses = createClientUses(isHttp)
  const loop = createLoop({
    step,
    failed: (err) => log.error({ err }, 'an MCP connection attempt failed unexpectedly'),
  })
  const retry = createRetryTime(status.failures, loop.wake)
  const current = createCurrentClient({ ...options, log }, { status, uses, signal: ending }, retry.lost)
  /** Settles after the current attempt. */
  let attempt = Promise.withResolvers<void>()
  let isStarted = false
  const link = { ...current, server: server.name, status, uses, connected }

  return {
    name: server.name,
    start,
    /** Resolves after the first attempt, whether or not it succeeded. */
    firstAttempt: attempt.promise,
    /** Connects once, without reconnecting later; `status` has the outcome. */
    once: step,
    /** Checks the connection, or connects, immediately, for example after a login. */
    wake: retry.want,
    status: status.read,
    /** See `callTool`. */
    call: (tool: string, args: Record<string, unknown>, call: ToolCallOptions) =>
      callTool(link, tool, args, call),
    async close() {
      ended.abort()
      const open = new Set(uses.clients())
      const client = current.drop()
      if (client) open.add(client)
      await Promise.all([loop.stop(), ...[...open].map((one) => one.close())])
    },
  }

  function start(): void {
    if (!isStarted) loop.start()
    isStarted = true
  }

  /** Checks the connection, or connects. Resolves with the ms until the next step, if any. */
  async function step(): Promise<number | undefined> {
    const client = current.get()
    // Over stdio, the end of the process is noticed without a check.
    if (client && isHttp) await current.refresh(client)
    if (!client && retry.isDue()) await tryOnce()
    if (!current.get()) return retry.left()
    return isHttp ? CHECK_INTERVAL : undefined
  }

  async function tryOnce(): Promise<void> {
    retry.clearWant()
    try {
      await current.open().then(retry.clearWant)
    } catch (error) {
      const needsLogin = (await failureKind(error)) === 'login'
      status.down(needsLogin ? status.loginReason : reasonOf(error), ending.aborted)
      retry.failed()
    }
    attempt.resolve()
    attempt = Promise.withResolvers()
  }

  async function connected(signal: AbortSignal): Promise<Client> {
    // The server may be down, or may not have been needed before: the call makes the connection.
    start()
    if (!current.get()) retry.want()
    const giveUp = AbortSignal.any([signal, ending, AbortSignal.timeout(MAX_WAIT_OF_CALL)])
    if (!current.get()) await inTime(attempt.promise, giveUp)
    const client = current.get()
    if (!client) throw status.unavailable()
    return client
  }
}
