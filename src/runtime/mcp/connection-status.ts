import { isDeepStrictEqual } from 'node:util'
import type { Client } from '@modelcontextprotocol/client'
import { TriviumError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { McpFault, McpServer, McpStatus } from '../../core/mcp.ts'
import type { RemoteTool } from './tool-list.ts'

/** After so long (ms) a connection counts as good, and the next failure as the first. */
const STEADY = 30_000
const LOGIN = 'it wants a login'

export type ConnectionStatus = ReturnType<typeof createConnectionStatus>

/** Whether a server is connected, and why not; logs what changes. */
export function createConnectionStatus(server: McpServer, log: Log) {
  const { name, headers = {} } = server
  const hasAuthorization = Object.keys(headers).some((header) => /^authorization$/i.test(header))
  let state: McpStatus['state'] = 'connecting'
  let reason = 'it was not reached yet'
  let failures = 0
  let upSince = 0
  let tools = 0
  let faults: McpFault[] = []
  return {
    /** The reason of a server that requires a login, or another authorization than the configured one. */
    loginReason: hasAuthorization ? 'it refuses the authorization in `headers`' : LOGIN,
    /** Number of failures in a row. */
    failures: () => failures,
    up(client: Client): void {
      upSince = performance.now()
      state = 'up'
      const version = client.getNegotiatedProtocolVersion()
      reason = [client.getServerVersion()?.name, version].filter(Boolean).join(', ')
      log.info({ protocol: version, tools }, 'an MCP server is connected')
    },
    /** An open connection was lost; a `down` follows. */
    lost(): void {
      if (performance.now() - upSince > STEADY) failures = 0
    },
    /** `isQuiet`: nothing is logged, as at shutdown. */
    down(why: string, isQuiet: boolean): void {
      const isNews = reason !== why
      state = why === LOGIN ? 'login' : 'down'
      reason = why
      failures += 1
      if (isNews && !isQuiet) log.warn({ reason: why }, 'an MCP server is lost')
    },
    listed(list: { tools: readonly RemoteTool[]; faults: McpFault[] }): void {
      tools = list.tools.length
      if (!isDeepStrictEqual(list.faults, faults)) logFaults(log, list.faults)
      faults = list.faults
    },
    unavailable(): TriviumError {
      const todo = state === 'login' ? ` Run \`trivium mcp login ${name}\`.` : ''
      return new TriviumError('mcp_unavailable', { server: name, reason, todo })
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
  if (skipped.length > 0) log.warn({ tools: skipped.map(faultText) }, 'tools of an MCP server are left out')
  if (mended.length > 0)
    log.info({ tools: mended.map(faultText) }, 'tools of an MCP server have odd definitions')
}

/** The name as JSON: it is the server's own text. */
const faultText = ({ tool, reason }: McpFault) => `${JSON.stringify(tool)}: ${reason}`
