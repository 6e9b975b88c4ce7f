import type { Client } from '@modelcontextprotocol/client'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { LONGEST_TIMER } from '../../core/units.ts'
import type { ClientUses } from './client-uses.ts'
import type { ConnectionStatus } from './connection-status.ts'
import { failureKind } from './failure-kind.ts'

/** The parts of a connection that calls use. */
type Link = {
  server: string
  status: ConnectionStatus
  uses: ClientUses
  connected(signal: AbortSignal): Promise<Client>
  isCurrent(client: Client): boolean
  lose(client: Client, why: string): void
}

export type ToolCallOptions = { signal: AbortSignal; repeatable: boolean; inputSchema?: JsonObject }

/**
 * Calls a tool. Throws `mcp_unavailable` if the tool certainly did not run, `mcp_failed`, and
 * `mcp_unknown` if a call was cut off that is not `repeatable`.
 */
export async function callTool(
  link: Link,
  tool: string,
  args: Record<string, unknown>,
  { signal, repeatable, inputSchema = {} }: ToolCallOptions,
) {
  const { status, uses, lose } = link
  const values = { server: link.server, tool }
  const toolDefinition = { name: tool, inputSchema: { ...inputSchema, type: 'object' as const } }
  for (let repetitions = 0; ; repetitions++) {
    const client = await link.connected(signal)
    uses.begin(client)
    try {
      // The SDK requires a timeout, but the skill has a deadline of its own.
      const options = { signal, timeout: LONGEST_TIMER, toolDefinition }
      return await client.callTool({ name: tool, arguments: args }, options)
    } catch (error) {
      if (signal.aborted) throw error
      const kind = await failureKind(error)
      // A restarted server does not know the session, so it has not run the tool. Tries once more.
      if (kind === 'session' && repetitions === 0) {
        lose(client, 'it lost the session')
        continue
      }
      if (kind === 'answered') throw new TriviumError('mcp_failed', { ...values, reason: reasonOf(error) })
      lose(client, kind === 'login' ? status.loginReason : reasonOf(error))
      if (kind !== 'lost') throw status.unavailable()
      const reason = uses.whyLost(client) ?? reasonOf(error)
      const code = repeatable ? 'mcp_failed' : 'mcp_unknown'
      throw new TriviumError(code, { ...values, reason }, { cause: error })
    } finally {
      if (uses.end(client) && !link.isCurrent(client)) uses.release(client)
    }
  }
}
