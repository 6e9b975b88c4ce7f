import { channelOf } from '../../core/assistant-services.ts'
import type { Call } from '../../core/call.ts'
import { isOperator, partsOf } from '../../core/identity.ts'
import { pathGet } from '../../core/json.ts'
import type { LogEntry } from '../logs/logs.ts'

/** What people see of each other: nothing, or what is of the same gateway. */
export type Scope = 'person' | 'team'

/**
 * Who asks the assistant: the `owner` of what they add, and which notes and lines of the transcript (which it reads) they see.
 * Operators see everything; a person their own or, with the scope `team`, what is of their gateway.
 */
export function viewerOf(call: Call, scope: Scope) {
  const { caller, message } = call
  // What `trivium message cli` says, without `--from`, an operator says.
  const isCommandLine = message?.transport === 'cli' && message.from.id === 'cli'
  if (isOperator(caller) || isCommandLine) {
    const owner = (caller.kind === 'route' && caller.id) || channelOf(call)
    return { owner, sees: () => true, linesOf: async () => () => true }
  }
  const owner = caller.id ?? (message ? `${message.gateway}/${message.conversation}` : call.rootId)
  const { gateway, name, external } = partsOf(caller.id ?? '')
  if (gateway !== '' && scope === 'team' && !external) {
    const sees = (other: string) => other === gateway || partsOf(other).gateway === gateway
    return { owner, sees, linesOf: async () => (line: LogEntry) => line.channel === gateway }
  }
  return {
    owner,
    sees: (other: string) => other === owner,
    async linesOf(transcript: AsyncIterable<LogEntry>) {
      // Somebody without proof may have written into the conversation of another.
      if (gateway === '') return () => false
      const conversations = new Set<unknown>()
      for await (const { channel, role, meta } of transcript) {
        const isOwn = channel === gateway && role === 'user' && pathGet(meta, 'from') === name
        if (isOwn) conversations.add(pathGet(meta, 'conversation'))
      }
      return ({ channel, meta }: LogEntry) =>
        channel === gateway && conversations.has(pathGet(meta, 'conversation'))
    },
  }
}
