import { MESSAGE_TOPIC } from '../core/event.ts'
import type { RouteMatch } from '../core/match.ts'
import type { Message } from '../core/message.ts'
import { isLasting } from './event-access.ts'
import { compileMatcher } from './matcher.ts'

type Shown = { message: Message; events: readonly { group: string }[] }

/**
 * Leaves out of `message-show` the groups that never get the message: their filter excludes it, or
 * they belong to one invocation.
 */
export function withoutFilteredGroups<Args extends unknown[], Result extends Shown>(
  show: (...args: Args) => Promise<Result>,
  matchOf: (topic: string, group: string) => Promise<RouteMatch | undefined>,
) {
  return async (...args: Args): Promise<Result> => {
    const shown = await show(...args)
    const gets = async (group: string) => {
      if (!isLasting(group)) return false
      const match = await matchOf(MESSAGE_TOPIC, group)
      return match === undefined || compileMatcher(match)(shown.message)
    }
    const kept = await Promise.all(shown.events.map(({ group }) => gets(group)))
    return { ...shown, events: shown.events.filter((_, at) => kept[at]) }
  }
}
