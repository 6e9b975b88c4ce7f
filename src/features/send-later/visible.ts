import type { Call } from '../../core/call.ts'
import { isOperator } from '../../core/identity.ts'
import { viewerOf } from '../../core/viewer.ts'
import type { PlannedSend } from './records.ts'

/**
 * Whether a call may see a send: senders of messages see their own; programs and viewers those of
 * their gateways, whoever planned them; operators all.
 */
export function isVisible({ gateway, owner }: PlannedSend, call: Call): boolean {
  const { caller } = call
  if (caller.gateways && !caller.gateways.includes(gateway)) return false
  const isProgramOrViewer = caller.skills !== undefined
  return isOperator(caller) || isProgramOrViewer || viewerOf(call, 'person').sees(owner)
}
