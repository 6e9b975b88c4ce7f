import type { Client, OAuthClientProvider } from '@modelcontextprotocol/client'
import { pathGet } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { McpServer } from '../../core/mcp.ts'
import { loadPart } from '../../core/parts.ts'
import { openTransport } from './transport.ts'

/** Timeout (ms) for connecting. Long, because `npx` may have to download a package first. */
const CONNECT_TIMEOUT = 60_000
/** Timeout (ms) of the first request in the newer protocol, after which the older one is tried. */
const PROBE_TIMEOUT = 5_000
/** Minimum interval (ms) between reactions to changed tools. */
const CHANGE_INTERVAL = 500

type OpenOptions = {
  server: McpServer
  version: string
  login?(): Promise<OAuthClientProvider | undefined>
  log: Log
  /** Skips the newer protocol, for servers that are known not to support it. */
  isLegacy: boolean
  signal: AbortSignal
  /** Called after the server announced changed tools. */
  changed(client: Client): void
  lost(client: Client, why: string): void
  /** Called once connected. If it throws, the client is closed. */
  connected(client: Client): Promise<void>
}

/**
 * Connects a new client to a server. A process that ends at the first request of the newer protocol
 * is started again for the older one. Throws an error that explains the failure.
 */
export async function openFittingClient(options: OpenOptions): Promise<void> {
  let hasConnected = false
  const connected = (client: Client) => {
    hasConnected = true
    return options.connected(client)
  }
  try {
    await openClient({ ...options, connected })
  } catch (error) {
    const isProcess = options.server.url === undefined
    const isMissing = /^(ENOENT|EACCES)$/.test(String(pathGet(error, 'cause.code')))
    if (!isProcess || isMissing || options.isLegacy || hasConnected || options.signal.aborted) throw error
    await openClient({ ...options, isLegacy: true })
  }
}

async function openClient(options: OpenOptions): Promise<void> {
  const { server, version, log, isLegacy, signal, changed, lost, connected } = options
  const { Client } = await loadPart('mcp', () => import('@modelcontextprotocol/client'))
  let lossReason: string | undefined
  const lose = (why: string) => {
    lossReason ??= why
    lost(client, why)
  }
  const onChanged = atMostEvery(CHANGE_INTERVAL, () => changed(client))
  const client: Client = new Client(
    { name: 'trivium', version },
    {
      jsonSchemaValidator: { getValidator: refuseSchema },
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: PROBE_TIMEOUT } },
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged } },
    },
  )
  const connection = await openTransport(server, {
    login: await options.login?.(),
    log,
    fault(why) {
      lose(why)
      void client.close().catch(() => {})
    },
  })
  client.onclose = () => lose(connection.closeReason())
  let isConnected = false
  try {
    const limits = { timeout: CONNECT_TIMEOUT, signal }
    await client.connect(connection.transport, { ...limits, ...(isLegacy && { prior: { kind: 'legacy' } }) })
    isConnected = true
    await connected(client)
  } catch (error) {
    // If an open connection was lost, the reason of the loss says more than the failed request.
    const reason = (isConnected ? lossReason : undefined) ?? connection.explain(error)
    await client.close().catch(() => {})
    throw new Error(reason, { cause: error })
  }
}

/** Makes a function that runs `work` after `ms`. Further calls until then have no effect. */
function atMostEvery(ms: number, work: () => void): () => void {
  let isWaiting = false
  const run = () => {
    isWaiting = false
    work()
  }
  return () => {
    if (isWaiting) return
    isWaiting = true
    setTimeout(run, ms).unref()
  }
}

/**
 * Keeps the library from compiling schemas of the server: it would run their patterns in the native
 * regex engine.
 */
function refuseSchema(): never {
  throw new Error('the library must not compile schemas of a server')
}
