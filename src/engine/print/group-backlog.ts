import type { JsonObject } from '../../core/json.ts'

/** The number of events that a group has to read, or its push to send; an older daemon has no `behind`. */
function behindOf({ lag, again = 0, behind }: JsonObject): number {
  return Number(behind ?? Number(lag) + Number(again))
}

/** `217`, or `217+` if there may be more. */
export function behindText(group: JsonObject): string {
  return `${behindOf(group).toLocaleString('en')}${group.more === true ? '+' : ''}`
}

/** The groups that are behind, furthest behind first. */
export function groupsBehind(groups: readonly JsonObject[]): JsonObject[] {
  return groups
    .filter((group) => behindOf(group) > 0)
    .toSorted((one, other) => behindOf(other) - behindOf(one))
}
