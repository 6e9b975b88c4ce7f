import type { Client, OAuthClientProvider } from '@modelcontextprotocol/client'
import { reasonOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { McpServer } from '../../core/mcp.ts'
import type { ClientUses } from './client-uses.ts'
import type { ConnectionStatus } from './connection-status.ts'
import { openClient } from './open-client.ts'
import { listTools, type RemoteTool } from './tool-list.ts'

export type ConnectionOptions = {
  server: McpServer
  version: string
  /** Its OAuth login, of a server over HTTP; undefined where there is none yet. */
  login?(): Promise<OAuthClientProvider | undefined>
  /** What it offers: after each connect, and whenever that changed. */
  listed(tools: RemoteTool[]): void
  log: Log
}

/** Ms until a server must have listed its tools. */
const LIST_WITHIN = 30_000

/** The client that calls to a server use, if one is connected. `signal`: the connection ends. `lost` is called after a loss. */
export function createCurrentClient(
  options: ConnectionOptions,
  { status, uses, signal }: { status: ConnectionStatus; uses: ClientUses; signal: AbortSignal },
  lost: () => void,
) {
  let client: Client | undefined
  /** A server that knew only the older protocol is not asked for the newer one again. */
  let isLegacy = false
  const isCurrent = (one: Client) => client === one
  return {
    get: () => client,
    isCurrent,
    lose,
    refresh,
    /** Connects a new client. Throws an error that explains the failure. */
    open: () => openClient({ ...options, isLegacy, signal, changed, lost: lose, connected: use }),
    /** Takes it out of use. */
    drop(): Client | undefined {
      const last = client
      client = undefined
      return last
    },
  }

  function changed(made: Client): void {
    if (isCurrent(made)) void refresh(made)
  }

  /** Takes a new client into use, if it can list its tools. */
  async function use(made: Client): Promise<void> {
    isLegacy = made.getProtocolEra() === 'legacy'
    client = made
    try {
      await list(made)
    } catch (error) {
      client = undefined
      throw error
    }
    status.up(made)
  }

  async function list(from: Client): Promise<void> {
    const listed = await listTools(from, LIST_WITHIN)
    status.listed(listed)
    options.listed(listed.tools)
  }

  /** Lists the tools again; a client that cannot is lost. */
  async function refresh(from: Client): Promise<void> {
    await list(from).catch((error: unknown) => lose(from, reasonOf(error)))
  }

  function lose(one: Client, why: string): void {
    uses.lost(one, why)
    if (!isCurrent(one)) return
    client = undefined
    status.lost()
    status.down(why, signal.aborted)
    uses.leave(one)
    lost()
  }
}
