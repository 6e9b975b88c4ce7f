import type { Client, OAuthClientProvider } from '@modelcontextprotocol/client'
import type { Log } from '../../core/log.ts'
import type { McpServer } from '../../core/mcp.ts'
import { loadPart } from '../../core/parts.ts'
import { openWay } from './transport.ts'

/** Timeout (ms) for connecting. Long, because `npx` may have to download a package first. */
const CONNECT_WITHIN = 60_000
/** Minimum interval (ms) between reactions to changed tools. */
const CHANGES_EVERY = 500

/** Connects a new client to a server. Throws an error that explains the failure. */
export async function openClient(options: {
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
}): Promise<void> {
  const { server, version, log, isLegacy, signal, changed, lost, connected } = options
  const { Client } = await loadPart('mcp', () => import('@modelcontextprotocol/client'))
  const onChanged = atMostEvery(CHANGES_EVERY, () => changed(client))
  const client: Client = new Client(
    { name: 'trivium', version },
    {
      jsonSchemaValidator: { getValidator: refuseSchema },
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: 5_000 } },
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged } },
    },
  )
  const way = await openWay(server, {
    login: await options.login?.(),
    log,
    fault(why) {
      lost(client, why)
      void client.close().catch(() => {})
    },
  })
  client.onclose = () => lost(client, way.lastWords())
  try {
    const within = { timeout: CONNECT_WITHIN, signal }
    await client.connect(way.transport, { ...within, ...(isLegacy && { prior: { kind: 'legacy' } }) })
    await connected(client)
  } catch (error) {
    await client.close().catch(() => {})
    throw new Error(way.explain(error), { cause: error })
  }
}

/** Makes a function that runs `work` after `ms`, once for all calls until then. */
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

/**
 * The library would run patterns from the server's schemas in the native regex engine, so it must
 * not compile them.
 */
function refuseSchema(): never {
  throw new Error('the library must not compile schemas of a server')
}
