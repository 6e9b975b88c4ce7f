import type { Call } from '../../core/call.ts'
import { isOperator } from '../../core/identity.ts'
import { viewerOf } from '../../core/viewer.ts'
import type { PlannedSend } from './records.ts'

/**
 * Whether a call may see a send: people their own, operators all, and programs those of their
 * gateways.
 */
export function isVisible({ gateway, owner }: PlannedSend, call: Call): boolean {
  const { caller } = call
  if (caller.gateways && !caller.gateways.includes(gateway)) return false
  return isOperator(caller) || caller.skills !== undefined || viewerOf(call, 'person').sees(owner)
}
