import type { JsonObject } from '../../core/json.ts'

/** The number of events that a group has to read: unread, or to be delivered again. */
export function behindOf({ lag, again = 0 }: JsonObject): number {
  return Number(lag) + Number(again)
}

/** The groups that are behind, furthest behind first. */
export function groupsBehind(groups: readonly JsonObject[]): JsonObject[] {
  return groups
    .filter((group) => behindOf(group) > 0)
    .toSorted((one, other) => behindOf(other) - behindOf(one))
}
