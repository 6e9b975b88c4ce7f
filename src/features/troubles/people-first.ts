import { type JsonObject, pathGet } from '../../core/json.ts'

/** Troubles for which people wait. */
const WAITING: ReadonlySet<unknown> = new Set(['unanswered', 'approval-waiting'])

/**
 * The troubles of a screen that may not show all: after the pause of everything, those for which
 * people wait and that nobody takes care of, as in the console.
 */
export function peopleFirst(troubles: readonly JsonObject[]): readonly JsonObject[] {
  return troubles.toSorted((one, other) => rankOf(one) - rankOf(other))
}

function rankOf({ code, where, acknowledged }: JsonObject): number {
  if (code === 'paused' && pathGet(where ?? null, 'reason') === 'restore') return 0
  return WAITING.has(code) && acknowledged === undefined ? 1 : 2
}
