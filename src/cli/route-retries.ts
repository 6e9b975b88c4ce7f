import { type Json, type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { defined } from '../lib/defined.ts'
import type { Connection } from './connection.ts'

/** Maximum number of messages that are examined. */
const MAX_EXAMINED = 100

type Daemon = Pick<Connection, 'invoke'>

/**
 * The messages that are tried again after a failed attempt, without tests, the next attempt first:
 * each with its `route`, last `error`, number of the last `attempt`, and `nextAt`. `route`: only
 * those of this route.
 */
export async function retriedMessages(
  daemon: Daemon,
  filter: { route?: string } = {},
): Promise<JsonObject[]> {
  return (await attemptsWith(daemon, 'retrying', filter))
    .map(({ id, route, attempt, error, nextAt }) => defined({ id, route, attempt, error, nextAt }))
    .sort((a, b) => timeIn(a.nextAt) - timeIn(b.nextAt))
}

/**
 * The messages on which an attempt runs, without tests, the longest attempt first: each with its
 * `route`, and `since` when the attempt runs.
 */
export async function runningMessages(daemon: Daemon): Promise<JsonObject[]> {
  return (await attemptsWith(daemon, 'running'))
    .map(({ id, route, since }) => defined({ id, route, since }))
    .sort((a, b) => timeIn(a.since) - timeIn(b.since))
}

/** The messages that wait for a budget and for no pause, without tests, each with its `route`. */
export async function budgetWaits(daemon: Daemon): Promise<JsonObject[]> {
  const waiting = await attemptsWith(daemon, 'waiting')
  return waiting.filter(({ budget, pausedBy }) => budget !== undefined && pausedBy === undefined)
}

/** The last attempts on the messages with an outcome. */
async function attemptsWith(
  daemon: Daemon,
  outcome: string,
  filter: { route?: string } = {},
): Promise<JsonObject[]> {
  const search = { ...filter, outcome, limit: MAX_EXAMINED }
  const found = await daemon.invoke('message-search', search).catch(() => null)
  const ids = objectsIn(pathGet(found, 'messages')).flatMap(({ id, test }) =>
    test === true || typeof id !== 'string' ? [] : [id],
  )
  if (ids.length === 0) return []
  const attempts = objectsIn(await daemon.invoke('message-attempts', { ids }).catch(() => null))
  return attempts.filter((attempt) => attempt.outcome === outcome)
}

/** Times that are not known come last. */
function timeIn(at: Json | undefined): number {
  return typeof at === 'number' ? at : Number.MAX_SAFE_INTEGER
}
