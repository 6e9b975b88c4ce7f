import type { RouteMatch } from '../core/match.ts'
import type { createPush } from '../features/push/push.ts'
import type { Roads } from './roads.ts'

/** Makes the function that finds the filter of a consumer group, or of the push that reads as it. */
export function groupMatches(
  { groups }: Pick<Roads, 'groups'>,
  push: Pick<ReturnType<typeof createPush>, 'matchOf'>,
) {
  return async (topic: string, group: string): Promise<RouteMatch | undefined> =>
    push.matchOf(topic, group) ?? (await groups.settings.of(topic, group)).match
}
