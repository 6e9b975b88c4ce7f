import { channelOf } from './assistant-services.ts'
import type { Call } from './call.ts'
import { isOperator, partsOf } from './identity.ts'

/** Whose lines of the transcript: of everybody, of a gateway, or of the conversations in which somebody wrote. Undefined: none. */
export type Readable = { channel?: string; sender?: string } | undefined

/** What people see of each other: nothing, or what is of the same gateway. */
export type Scope = 'person' | 'team'

/**
 * Who asks the assistant: the `owner` of what they add, and which notes and lines of the transcript they see. Operators see
 * everything; a person their own or, with the scope `team`, what is of their gateway.
 */
export function viewerOf(call: Call, scope: Scope) {
  const { caller, message } = call
  if (isOperator(caller) || isCommandLine(message)) {
    const owner = (caller.kind === 'route' && caller.id) || channelOf(call)
    return { owner, sees: () => true, reads: {} satisfies Readable }
  }
  const owner = caller.id ?? (message ? `${message.gateway}/${message.conversation}` : call.rootId)
  const { gateway, name, external } = partsOf(caller.id ?? '')
  if (gateway !== '' && scope === 'team' && !external) {
    const sees = (other: string) => other === gateway || partsOf(other).gateway === gateway
    return { owner, sees, reads: { channel: gateway } satisfies Readable }
  }
  // Somebody without proof may have written into the conversation of another.
  const reads: Readable = gateway === '' ? undefined : { channel: gateway, sender: name }
  return { owner, sees: (other: string) => other === owner, reads }
}

/** True for what an operator typed: `trivium message cli` without `--from`, and not sent again with other words or by a program. */
export function isCommandLine(message: Call['message']): boolean {
  return message?.transport === 'cli' && message.from.id === 'cli' && message.from.verified === true
}
