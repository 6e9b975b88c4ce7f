import type { Call } from './call.ts'
import { isOperator, NOT_GATEWAYS, partsOf } from './identity.ts'

/** Readable transcript lines: all, those of a gateway, or those of conversations in which the sender wrote. Undefined: none. */
export type Readable = { channel?: string; sender?: string } | undefined

/** Visibility between people: none, or within the same gateway. */
export type Scope = 'person' | 'team'

/**
 * The assistant's view of a caller: the `owner` of what they add, and the notes and transcript lines that they may see. Operators
 * see everything; people see their own or, with scope `team`, everything of their gateway.
 */
export function viewerOf(call: Pick<Call, 'caller' | 'message' | 'rootId'>, scope: Scope) {
  const { caller, message } = call
  if (isOperator(caller) || isCommandLine(message)) {
    // With a slash, as in no name of a gateway: what belongs to `http` would be shared with a gateway of that name.
    const owner = (caller.kind === 'route' && caller.id) || (message?.gateway ?? `operator/${caller.kind}`)
    return { owner, sees: () => true, reads: {} satisfies Readable }
  }
  const owner = caller.id ?? (message ? `${message.gateway}/${message.conversation}` : call.rootId)
  const { gateway, name, external } = partsOf(caller.id ?? '')
  if (gateway !== '' && !NOT_GATEWAYS.includes(gateway) && scope === 'team' && !external) {
    const sees = (other: string) => other === gateway || partsOf(other).gateway === gateway
    return { owner, sees, reads: { channel: gateway } satisfies Readable }
  }
  // An unverified sender may have written into another person's conversation.
  const reads: Readable = gateway === '' ? undefined : { channel: gateway, sender: name }
  return { owner, sees: (other: string) => other === owner, reads }
}

/** True for a message that an operator typed: `trivium message cli` without `--from`, not edited and not resent by a program. */
export function isCommandLine(message: Call['message']): boolean {
  return message?.transport === 'cli' && message.from.id === 'cli' && message.from.verified === true
}
