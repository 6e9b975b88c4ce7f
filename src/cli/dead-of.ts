import type { JsonObject } from '../core/json.ts'

/** The dead letters of a road, without those of test messages. */
export function deadOf({ dead, tests = 0 }: JsonObject): number | undefined {
  return dead === undefined ? undefined : Math.max(0, Number(dead) - Number(tests))
}
