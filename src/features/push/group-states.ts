import { z } from 'zod'
import type { GroupInfo } from '../../core/store.ts'
import type { SubscriptionInfo } from '../../core/subscription-info.ts'
import { defined } from '../../lib/defined.ts'

const groupsSchema = z.array(z.looseObject({ topic: z.string(), group: z.string() }))

type Backlog = { behind: number; more?: true }

/**
 * Adds to groups the number of events that each has to read, or that its push will still send
 * (`behind`). `more`: it may be higher.
 */
export function withBacklogs<Group extends GroupInfo>(
  groups: readonly Group[],
  pushes: readonly SubscriptionInfo[],
): (Group & Backlog)[] {
  return groups.map((group) => {
    const push = pushOf(group, pushes)
    return { ...group, behind: push?.waiting ?? group.lag + group.again, ...defined({ more: push?.more }) }
  })
}

/** The push subscription that reads as a group, if one does. */
export function pushOf<Push extends Pick<SubscriptionInfo, 'name' | 'topic'>>(
  { topic, group }: Pick<GroupInfo, 'topic' | 'group'>,
  pushes: readonly Push[],
): Push | undefined {
  return pushes.find((each) => each.name === group && each.topic === topic)
}

/**
 * Wraps `event-groups`: adds `push` to a group, the state of the push subscription that reads as
 * it, and counts as `behind` the events that the push will still send.
 */
export function withPushStates<Args extends unknown[]>(
  groups: (...args: Args) => Promise<unknown>,
  list: () => Promise<Omit<SubscriptionInfo, 'attempts'>[]>,
) {
  return async (...args: Args) => {
    const [found, pushes] = await Promise.all([groups(...args), list()])
    return groupsSchema.parse(found).map((one) => {
      const push = pushOf(one, pushes)
      if (!push) return one
      const { waitingSince: _, ...group } = one
      const since = defined({ waitingSince: push.oldestAt, more: push.more })
      return { ...group, behind: push.waiting, ...since, push: stateOf(push) }
    })
  }
}

function stateOf(push: Omit<SubscriptionInfo, 'attempts'>) {
  const { name: _, topic: _topic, source: _source, ok: _ok, waiting: _waiting, ...state } = push
  return state
}
