import type { Trouble } from '../../core/trouble.ts'
import type { RefusalCount } from '../../engine/refusal-tally.ts'
import { withPauses } from './pause-troubles.ts'
import { withStoppedWorkers } from './pull-troubles.ts'
import { withRefusals } from './refusal-troubles.ts'

/** Adds to gateways what `troubles` says about them: refusals, pauses and workers that stopped. */
export function withStates<T extends { name: string; ok: boolean; warning?: string }>(
  gateways: readonly T[],
  troubles: readonly Trouble[],
  counts: readonly RefusalCount[],
) {
  return withPauses(withStoppedWorkers(withRefusals(gateways, troubles, counts), troubles), troubles)
}
