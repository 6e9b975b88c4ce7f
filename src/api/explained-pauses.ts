import type { Message } from '../core/message.ts'
import type { Router } from '../engine/router.ts'
import type { Pauses } from '../features/pauses/pauses.ts'
import { defined } from '../lib/defined.ts'
import type { usedUpBudgets } from '../lib/used-up-budget.ts'

type Explained = ReturnType<Router['explain']>

/** The pause of everything, or one of dispatch. */
type Holding = { kind: string; name: string; until?: number }

/**
 * The explained routes for a draft. The one that answers has `pausedBy`: the pauses that the message
 * would wait for, `usedUp`: the budget, and `callsPaused`: the pauses of skills that its skill calls.
 */
export async function withPauses(
  routes: Explained,
  message: Pick<Message, 'id' | 'gateway' | 'conversation'>,
  deps: {
    pauses: Pick<Pauses['view'], 'pausesOf'>
    storePause: { since(): number | undefined }
    usedUp: ReturnType<typeof usedUpBudgets>
    calledPauses(skill: string): Promise<Holding[]>
  },
) {
  const { id, gateway, conversation } = message
  const explained = routes.map(async (route) => {
    if (!route.chosen) return route
    const job = { id, lane: `${gateway}/${conversation}`, group: route.route }
    const since = deps.storePause.since()
    const ofStore: Holding[] = since === undefined ? [] : [{ kind: 'store', name: 'everything' }]
    const pausedBy = [...ofStore, ...deps.pauses.pausesOf(job)]
    const usedUp = deps.usedUp.find(({ skill }) => skill === route.skill)
    const called = route.skill === undefined ? [] : await deps.calledPauses(route.skill)
    return {
      ...route,
      ...(pausedBy.length > 0 && { pausedBy }),
      ...(called.length > 0 && { callsPaused: called }),
      ...defined({ usedUp }),
    }
  })
  return Promise.all(explained)
}
