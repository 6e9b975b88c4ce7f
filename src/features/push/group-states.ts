import { z } from 'zod'
import type { SubscriptionInfo } from '../../core/subscription-info.ts'

const groupsSchema = z.array(z.looseObject({ topic: z.string(), group: z.string() }))

/** Adds to the result of `event-groups` how the pushes that read as groups stand, as `push`. */
export function withPushStates<Args extends unknown[]>(
  groups: (...args: Args) => Promise<unknown>,
  list: () => Promise<Omit<SubscriptionInfo, 'attempts'>[]>,
) {
  return async (...args: Args) => {
    const [found, pushes] = await Promise.all([groups(...args), list()])
    return groupsSchema.parse(found).map((one) => {
      const push = pushes.find(({ name, topic }) => name === one.group && topic === one.topic)
      return push ? { ...one, push: stateOf(push) } : one
    })
  }
}

function stateOf(push: Omit<SubscriptionInfo, 'attempts'>) {
  const { url, match, state, detail, paused, failingSince, errors, nextAt, queued, dead } = push
  return { url, match, state, detail, paused, failingSince, errors, nextAt, queued, dead }
}
