import { concurrencyOf } from '../core/route.ts'
import { DISPATCH_QUEUE } from '../engine/dispatch-queue.ts'
import { withPausedUse } from '../features/budget/paused-use.ts'
import { MOST_HELD } from '../lib/held-text.ts'
import type { Foundation } from './foundation.ts'
import type { Roads } from './roads.ts'
import type { makeSkills } from './skills.ts'

export type ReadBudgets = ReturnType<typeof budgetsWithPauses>

/** The state of the budgets, with the pauses that keep them from being used. */
export function budgetsWithPauses(
  { store, router, now }: Pick<Foundation, 'store' | 'router' | 'now'>,
  { roads, skills }: { roads: Roads; skills: Pick<ReturnType<typeof makeSkills>, 'budgets' | 'usage'> },
) {
  return withPausedUse(skills.budgets.status, {
    pauses: roads.pauses.view,
    held: async () => (await store.jobs.held(DISPATCH_QUEUE, '', MOST_HELD)).items,
    concurrencyOf: (name) => concurrencyOf(router.routes().find((route) => route.name === name) ?? {}),
    later: skills.budgets.later,
    lately: skills.usage.lately,
    now,
  })
}
