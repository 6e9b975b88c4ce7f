import { isDeepStrictEqual } from 'node:util'
import type { Client } from '@modelcontextprotocol/client'
import { TriviumError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { McpFault, McpServer, McpStatus } from '../../core/mcp.ts'
import type { RemoteTool } from './tool-list.ts'

/** How long (ms) a connection must last before the failure count starts again. */
const STABLE_AFTER = 30_000
const LOGIN = 'it requires a login'

export type ConnectionStatus = ReturnType<typeof createConnectionStatus>

/** Knows whether a server is connected, or why it is not. Logs changes. */
export function createConnectionStatus(server: McpServer, log: Log) {
  const { name, headers = {} } = server
  const hasAuthorization = Object.keys(headers).some((header) => /^authorization$/i.test(header))
  let state: McpStatus['state'] = 'connecting'
  let reason = 'it has not been reached yet'
  let failures = 0
  let upSince = 0
  let tools = 0
  let faults: McpFault[] = []
  return {
    /** The reason shown if the server requires a login, or rejects the configured authorization. */
    loginReason: hasAuthorization ? 'it rejects the authorization in `headers`' : LOGIN,
    /** Number of failures in a row. */
    failures: () => failures,
    up(client: Client): void {
      upSince = performance.now()
      state = 'up'
      const version = client.getNegotiatedProtocolVersion()
      reason = [client.getServerVersion()?.name, version].filter(Boolean).join(', ')
      log.info({ protocol: version, tools }, 'connected to an MCP server')
    },
    /** Called when an open connection was lost. A call of `down` follows. */
    lost(): void {
      if (performance.now() - upSince > STABLE_AFTER) failures = 0
    },
    /** Called when the server cannot be used. `isQuiet`: logs nothing, because the daemon stops. */
    down(why: string, isQuiet: boolean): void {
      const isNews = reason !== why
      state = why === LOGIN ? 'login' : 'down'
      reason = why
      failures += 1
      if (isNews && !isQuiet) log.warn({ reason: why }, 'lost an MCP server')
    },
    listed(list: { tools: readonly RemoteTool[]; faults: McpFault[] }): void {
      tools = list.tools.length
      if (!isDeepStrictEqual(list.faults, faults)) logFaults(log, list.faults)
      faults = list.faults
    },
    unavailable(): TriviumError {
      const remedy = state === 'login' ? ` Run \`trivium mcp login ${name}\`.` : ''
      return new TriviumError('mcp_unavailable', { server: name, reason, todo: remedy })
    },
    read: (): McpStatus => ({
      name,
      at: server.url ?? server.command ?? '',
      ok: state === 'up',
      state,
      detail: state === 'login' ? `${reason}; run \`trivium mcp login ${name}\`` : reason,
      tools,
      ...(faults.length > 0 && { faults }),
    }),
  }
}

function logFaults(log: Log, faults: readonly McpFault[]): void {
  const skipped = faults.filter((one) => one.skipped)
  const mended = faults.filter((one) => !one.skipped)
  if (skipped.length > 0)
    log.warn({ tools: skipped.map(faultText) }, 'some tools of an MCP server were skipped')
  if (mended.length > 0)
    log.info({ tools: mended.map(faultText) }, 'some tools of an MCP server have invalid definitions')
}

/** The name of the tool is quoted, because it is any text from the server. */
const faultText = ({ tool, reason }: McpFault) => `${JSON.stringify(tool)}: ${reason}`
