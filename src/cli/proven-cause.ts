import { type Json, type JsonObject, objectsIn } from '../core/json.ts'
import { isProven, RETRY_ALL, retriedLine } from '../engine/print/letter-recovery.ts'
import { FIX } from '../features/troubles/dead-letter-troubles.ts'

/** The filter of `dead-letter-groups` for a trouble; undefined if it is not one cause of a route. */
export function causeOf({ code, where }: JsonObject): JsonObject | undefined {
  const cause: JsonObject = Object(where ?? null)
  return code === 'dead-letters' && cause.queue === 'dispatch' && cause.pattern !== undefined
    ? cause
    : undefined
}

/**
 * A trouble with the retried message that proves that its dead letters can succeed, if there is one
 * in each route. `groups`: the result of `dead-letter-groups` with `recovery`.
 */
export function withProof(trouble: JsonObject, groups: Json): JsonObject {
  const causes = objectsIn(groups)
  if (causes.length === 0 || !causes.every(isProven)) return trouble
  const todo = `R${RETRY_ALL.slice(1)}`
  return {
    ...trouble,
    text: `${trouble.text} ${causes.map(retriedLine).join('. ')}.`,
    todo: String(trouble.todo).replace(FIX, todo),
  }
}
