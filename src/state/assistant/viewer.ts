import { channelOf } from '../../core/assistant-services.ts'
import type { Call } from '../../core/call.ts'
import { isOperator, partsOf } from '../../core/identity.ts'
import { pathGet } from '../../core/json.ts'
import type { LogEntry } from '../logs/log-reader.ts'

/** What people see of each other: nothing, or what is of the same gateway. */
export type Scope = 'person' | 'team'

/** Who asks the assistant. */
export type Viewer = {
  /** Whose the notes are that they add. */
  owner: string
  /** Which notes they see, and which they may remove. */
  sees(owner: string): boolean
  owns(owner: string): boolean
  /** Which lines of the transcript they see. Reads it, to find the conversations in which they wrote. */
  linesOf(transcript: AsyncIterable<LogEntry>): Promise<(line: LogEntry) => boolean>
}

/** Operators see everything; a person their own or, by the scope, what is of their gateway. */
export function viewerOf(call: Call, scope: Scope): Viewer {
  const { caller, message } = call
  const all = () => true
  if (isOperator(caller) || isCommandLine(call)) {
    const owner = (caller.kind === 'route' && caller.id) || channelOf(call)
    return { owner, sees: all, owns: all, linesOf: async () => all }
  }
  const own = caller.id ?? (message ? `${message.gateway}/${message.conversation}` : call.rootId)
  const owns = (owner: string) => owner === own
  const { gateway, name, external } = partsOf(caller.id ?? '')
  // Somebody without proof may have written into the conversation of another.
  if (gateway === '') return { owner: own, sees: owns, owns, linesOf: async () => () => false }
  if (scope === 'team' && !external) {
    const sees = (owner: string) => owner === gateway || partsOf(owner).gateway === gateway
    return { owner: own, sees, owns, linesOf: async () => (line) => line.channel === gateway }
  }
  return {
    owner: own,
    sees: owns,
    owns,
    async linesOf(transcript) {
      const conversations = new Set<unknown>()
      for await (const { channel, role, meta } of transcript) {
        const isOwn = channel === gateway && role === 'user' && pathGet(meta, 'from') === name
        if (isOwn) conversations.add(pathGet(meta, 'conversation'))
      }
      return ({ channel, meta }) => channel === gateway && conversations.has(pathGet(meta, 'conversation'))
    },
  }
}

/** What `trivium message cli` says, without `--from`, an operator says. */
function isCommandLine({ message }: Call): boolean {
  return message?.transport === 'cli' && message.from.id === 'cli'
}
