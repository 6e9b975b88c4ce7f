import type { Client, OAuthClientProvider } from '@modelcontextprotocol/client'
import type { Log } from '../../core/log.ts'
import type { McpServer } from '../../core/mcp.ts'
import { loadPart } from '../../core/parts.ts'
import { openWay } from './transport.ts'

/** Ms until a server must have connected, as a package may have to be downloaded. */
const CONNECT_WITHIN = 60_000
/** Ms between looks at tools that a server says have changed. */
const CHANGES_EVERY = 500

/** Connects a new client to a server. Throws an error that explains the failure. */
export async function openClient(options: {
  server: McpServer
  version: string
  login?(): Promise<OAuthClientProvider | undefined>
  log: Log
  /** The server is known to speak only the older protocol. */
  isLegacy: boolean
  signal: AbortSignal
  /** Called after the server said that its tools changed. */
  changed(client: Client): void
  lost(client: Client, why: string): void
  /** Called once it is connected. The client is closed if this throws. */
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
