import { type Json, type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { lastError } from '../engine/print/letter-causes.ts'
import { defined } from '../lib/defined.ts'
import { patternOf } from '../lib/error-pattern.ts'
import type { Connection } from './connection.ts'

/**
 * Adds to a dead letter its `cause`, the entry of `dead-letter-groups` with all that have the same
 * error, and the history of its message (`shownMessage`), unless retention has removed it.
 */
export async function withSurroundings(daemon: Pick<Connection, 'invoke'>, found: Json): Promise<Json> {
  const letter: JsonObject = Object(found)
  const { queue = '', group } = letter
  const id = pathGet(letter, 'message.id')
  const filter = { queue, ...defined({ group }) }
  const [causes, shownMessage] = await Promise.all([
    daemon.invoke('dead-letter-groups', filter).catch(() => []),
    id === undefined ? null : daemon.invoke('message-show', { id }).catch(() => null),
  ])
  const pattern = patternOf(lastError(letter))
  const cause = objectsIn(causes).find((one) => one.pattern === pattern)
  return { ...letter, shownMessage, ...defined({ cause }) }
}
