import { type Json, type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { defined } from '../lib/defined.ts'
import type { Connection } from './connection.ts'

type Source = Pick<Connection, 'running' | 'invoke'>

/** Messages of one call. */
const MAX_IDS = 200

/**
 * Adds to the messages of a list their last attempts, which have the route and what a message waits
 * for. Only a daemon knows them.
 */
export async function withAttempts(daemon: Source, found: Json, args: JsonObject = {}): Promise<Json> {
  const messages = objectsIn(pathGet(found, 'messages'))
  if (messages.length === 0) return withErrors(daemon, found, args)
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

/**
 * Adds to a search without messages where its text is in the last error: of a route's retrying
 * messages, and of dead letters.
 */
async function withErrors(daemon: Source, found: Json, args: JsonObject) {
  const error = args.search ?? args.text
  if (typeof error !== 'string' || error === '') return found
  const retryingWithError = await retryingWith(daemon, error).catch(() => undefined)
  const letters = await daemon.invoke('dead-letter-list', { error, limit: 1 }).catch(() => [])
  const deadWithError = objectsIn(letters).length === 0 ? undefined : error
  if (retryingWithError === undefined && deadWithError === undefined) return found
  return { ...Object(found), ...defined({ retryingWithError, deadWithError }) }
}

/** The route of the newest retrying message that has a text in its last error. */
async function retryingWith(daemon: Source, error: string): Promise<Json | undefined> {
  if (!daemon.running) return undefined
  const page = await daemon.invoke('message-search', { outcome: 'retrying', limit: MAX_IDS })
  const ids = objectsIn(pathGet(page, 'messages')).map(({ id }) => String(id))
  if (ids.length === 0) return undefined
  const attempts = objectsIn(await daemon.invoke('message-attempts', { ids }))
  const has = (text: Json | undefined) =>
    String(text ?? '')
      .toLowerCase()
      .includes(error.toLowerCase())
  return attempts.find((attempt) => has(attempt.error))?.route
}
