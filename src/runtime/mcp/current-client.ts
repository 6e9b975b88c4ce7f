import type { Client, OAuthClientProvider } from '@modelcontextprotocol/client'
import { reasonOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { McpServer } from '../../core/mcp.ts'
import type { ClientUses } from './client-uses.ts'
import type { ConnectionStatus } from './connection-status.ts'
import { openFittingClient } from './open-client.ts'
import { listTools, type RemoteTool, type ToolList } from './tool-list.ts'

export type ConnectionOptions = {
  server: McpServer
  version: string
  /** The OAuth login of a server over HTTP; undefined before the first login. */
  login?(): Promise<OAuthClientProvider | undefined>
  /** Called with the server's tools after each connect, and after each change. */
  listed(tools: RemoteTool[]): void
  log: Log
}

/** Timeout (ms) for listing tools. */
const LIST_TIMEOUT = 30_000

/**
 * The connected client of a server, if any, which all calls use. `signal` ends the connection.
 * `onLost` is called after the current client was lost.
 */
export function createCurrentClient(
  options: ConnectionOptions,
  { status, uses, signal }: { status: ConnectionStatus; uses: ClientUses; signal: AbortSignal },
  onLost: () => void,
) {
  let client: Client | undefined
  /** A client that announced changed tools before it became the current one. */
  let changedEarly: Client | undefined
  /** Whether the server speaks only the older protocol: then the newer one is not tried again. */
  let isLegacy = false
  const isCurrent = (one: Client) => client === one
  return {
    get: () => client,
    isCurrent,
    lose,
    refresh,
    /** Connects a new client. Throws an error that explains the failure. */
    open: () => openFittingClient({ ...options, isLegacy, signal, changed, lost: lose, connected: use }),
    /** Removes and returns the current client. */
    drop(): Client | undefined {
      const last = client
      client = undefined
      return last
    },
  }

  function changed(made: Client): void {
    if (isCurrent(made)) void refresh(made)
    else changedEarly = made
  }

  /** Makes a new client the current one, once it has listed its tools. */
  async function use(made: Client): Promise<void> {
    isLegacy = made.getProtocolEra() === 'legacy'
    const list = await listTools(made, { timeout: LIST_TIMEOUT, signal })
    signal.throwIfAborted()
    const lossReason = uses.whyLost(made)
    if (lossReason !== undefined) throw new Error(lossReason)
    client = made
    publish(list)
    status.up(made)
    if (changedEarly === made) void refresh(made)
  }

  /** Lists the tools of the current client again. If that fails, the client counts as lost. */
  async function refresh(from: Client): Promise<void> {
    try {
      const list = await listTools(from, { timeout: LIST_TIMEOUT, signal })
      if (isCurrent(from)) publish(list)
    } catch (error) {
      lose(from, reasonOf(error))
    }
  }

  function publish(list: ToolList): void {
    status.listed(list)
    options.listed(list.tools)
  }

  function lose(one: Client, why: string): void {
    uses.lost(one, why)
    if (!isCurrent(one)) return
    client = undefined
    status.lost()
    status.down(why, signal.aborted)
    uses.release(one)
    onLost()
  }
}
