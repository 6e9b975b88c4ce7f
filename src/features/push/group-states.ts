import { z } from 'zod'
import type { SubscriptionInfo } from '../../core/subscription-info.ts'

const groupsSchema = z.array(z.looseObject({ topic: z.string(), group: z.string() }))

/**
 * Wraps `event-groups`: adds `push` to a group, the state of the push subscription that reads as
 * it, and counts as `behind` all events that the push has not sent.
 */
export function withPushStates<Args extends unknown[]>(
  groups: (...args: Args) => Promise<unknown>,
  list: () => Promise<Omit<SubscriptionInfo, 'attempts'>[]>,
) {
  return async (...args: Args) => {
    const [found, pushes] = await Promise.all([groups(...args), list()])
    return groupsSchema.parse(found).map((one) => {
      const push = pushes.find(({ name, topic }) => name === one.group && topic === one.topic)
      return push ? { ...one, behind: push.waiting, push: stateOf(push) } : one
    })
  }
}

function stateOf(push: Omit<SubscriptionInfo, 'attempts'>) {
  const { url, match, state, detail, paused, failingSince, errors, nextAt, oldestAt, queued, unread, dead } =
    push
  return { url, match, state, detail, paused, failingSince, errors, nextAt, oldestAt, queued, unread, dead }
}
