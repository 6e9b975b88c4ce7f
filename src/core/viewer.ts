import type { Call } from './call.ts'
import { isOperator, isViewer, partsOf, RESERVED_PREFIXES } from './identity.ts'
import type { Message } from './message.ts'

/**
 * The transcript lines that a caller may read: all, those of a gateway, or those of conversations
 * in which the sender wrote. Undefined: none.
 */
export type ReadableLines = { gateway?: string; sender?: string } | undefined

/** Visibility between people: none, or within the same gateway. */
export type Scope = 'person' | 'team'

/**
 * The assistant's view of a caller: the `owner` of what they add, and the notes and transcript
 * lines that they may see. Operators and viewers of the console see everything; people see their own
 * or, with scope `team`, everything of their gateway.
 */
export function viewerOf(call: Pick<Call, 'caller' | 'message' | 'rootId'>, scope: Scope) {
  const { caller, message } = call
  if (isOperator(caller) || isCommandLine(message)) {
    return { owner: operatorOwner(call), sees: () => true, reads: {} satisfies ReadableLines }
  }
  // Viewers of the console read what operators read; `VIEWER_SKILLS` keeps them from changing it.
  if (isViewer(caller))
    return { owner: operatorOwner(call), sees: () => true, reads: {} satisfies ReadableLines }
  const owner = caller.id ?? (message ? unverifiedOwner(message) : call.rootId)
  const { gateway, name, external } = partsOf(caller.id ?? '')
  if (gateway !== '' && !RESERVED_PREFIXES.includes(gateway) && scope === 'team' && !external) {
    const sees = (other: string) => other === gateway || partsOf(other).gateway === gateway
    return { owner, sees, reads: { gateway } satisfies ReadableLines }
  }
  // An unverified sender reads no lines, as they may be in another person's conversation.
  const reads: ReadableLines = gateway === '' ? undefined : { gateway, sender: name }
  return { owner, sees: (other: string) => other === owner, reads }
}

/**
 * The owner of what an operator adds: their identity in a message, else the gateway of the message,
 * else `operator/http` and the like. No gateway has a slash in its name, so no gateway shares with
 * these.
 */
function operatorOwner({ caller, message }: Pick<Call, 'caller' | 'message'>): string {
  if (caller.kind === 'route' && caller.id) return caller.id
  return message?.gateway ?? `operator/${caller.kind}`
}

/** Whether an owner is an operator without a message: `operator/` and a kind of caller. */
export function isOperatorOwner(owner: string): boolean {
  return /^operator\/(route|cli|http|mcp|code)$/.test(owner)
}

/** The owner of what an unverified sender adds: the conversation, and never an operator. */
function unverifiedOwner({ gateway, conversation }: Pick<Message, 'gateway' | 'conversation'>): string {
  const owner = `${gateway}/${conversation}`
  return isOperatorOwner(owner) ? `~${owner}` : owner
}

/**
 * True for a message that an operator typed: `trivium message cli` without `--from`, not edited and
 * not resent by a program.
 */
export function isCommandLine(message: Call['message']): boolean {
  return message?.transport === 'cli' && message.from.id === 'cli' && message.from.verified === true
}
