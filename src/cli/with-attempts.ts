import { type Json, type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { defined } from '../lib/defined.ts'
import type { Connection } from './connection.ts'

/** Messages of one call. */
const MAX_IDS = 200

/**
 * Adds to the messages of a list their last attempts, which have the route and what a message waits
 * for. Only a daemon knows them.
 */
export async function withAttempts(
  daemon: Pick<Connection, 'running' | 'invoke'>,
  found: Json,
  args: JsonObject = {},
): Promise<Json> {
  const messages = objectsIn(pathGet(found, 'messages'))
  if (messages.length === 0) return withDeadLetters(daemon, found, args)
  if (!daemon.running) return found
  const attempts = new Map<unknown, JsonObject>()
  for (let at = 0; at < messages.length; at += MAX_IDS) {
    const ids = messages.slice(at, at + MAX_IDS).map(({ id }) => String(id))
    const answer = await daemon.invoke('message-attempts', { ids }).catch(() => [])
    for (const attempt of objectsIn(answer)) attempts.set(attempt.id, attempt)
  }
  const shown = messages.map((message) => ({ ...message, ...defined({ attempt: attempts.get(message.id) }) }))
  return { ...Object(found), messages: shown }
}

/** Adds the text of a search without messages if dead letters have it in their last error. */
async function withDeadLetters(daemon: Pick<Connection, 'invoke'>, found: Json, args: JsonObject) {
  const error = args.search ?? args.text
  if (typeof error !== 'string' || error === '') return found
  const letters = await daemon.invoke('dead-letter-list', { error, limit: 1 }).catch(() => [])
  return objectsIn(letters).length === 0 ? found : { ...Object(found), deadWithError: error }
}
