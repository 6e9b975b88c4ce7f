import { type Json, type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { shellWord } from '../lib/command-text.ts'
import { defined } from '../lib/defined.ts'
import { gatewayFault } from '../lib/gateway-fault.ts'
import type { Connection } from './connection.ts'

/** Outcomes of messages that failed, as in the console. */
export const FAILED = 'dead,undelivered'
/** Tests are found among this many of them. */
const MAX_FAILED = 200

type Daemon = Pick<Connection, 'invoke'>

/**
 * The messages of a route that arrived in a range, and how many of them failed,
 * where tests do not count as failed; undefined if counting takes too long. `attempts` and
 * `failedAttempts`: those that ended since, whenever their messages arrived; only of a route to a `skill`. Then as in
 * `message-durations`: `waited`, `ran`, `retried` of `retriedOf`, and `examined` if that is a sample.
 */
export async function workOf(
  daemon: Daemon,
  { route, skill }: { route: string; skill?: string },
  range: { since: string; until?: string },
): Promise<JsonObject | undefined> {
  const filter = { route, ...range }
  const [all, failed, rows, times, usage] = await Promise.all([
    daemon.invoke('message-histogram', { ...filter, buckets: 1 }).catch(() => null),
    daemon.invoke('message-histogram', { ...filter, buckets: 1, outcome: FAILED }).catch(() => null),
    daemon.invoke('message-search', { ...filter, outcome: FAILED, limit: MAX_FAILED }).catch(() => null),
    daemon.invoke('message-durations', filter).catch(() => null),
    skill === undefined
      ? null
      : daemon.invoke('skill-usage', { name: skill, ...range, limit: 1 }).catch(() => null),
  ])
  const [messages, failedCount] = [all, failed].map(totalOf)
  if (messages === undefined || failedCount === undefined) return undefined
  const tests = objectsIn(pathGet(rows, 'messages')).filter(({ test }) => test === true).length
  const { total, examined, retried, retriedOf, waited, ran } = Object(times)
  const isSample = Number(examined) < Number(total)
  return {
    messages,
    failed: Math.max(0, failedCount - tests),
    ...defined({
      attempts: callsBy(usage, route, 'runs'),
      failedAttempts: callsBy(usage, route, 'failed'),
      retried,
      retriedOf,
      waited,
      ran,
      examined: isSample ? examined : undefined,
    }),
  }
}

/** The runs of a skill that a route called, or the failed ones, by `skill-usage`; undefined if unknown. */
function callsBy(usage: Json, route: string, what: 'runs' | 'failed'): number | undefined {
  if (usage === null) return undefined
  const caller = objectsIn(pathGet(usage, 'callers')).find(({ by }) => by === `route ${route}`)
  return Number(caller?.[what] ?? 0)
}

/** The sum of `message-histogram`; undefined if not everything was counted in time. */
export function totalOf(counted: Json): number | undefined {
  const total = pathGet(counted, 'total')
  return typeof total === 'number' && pathGet(counted, 'countedTo') === undefined ? total : undefined
}

/**
 * The errors of the dead letters of a route, most frequent first, each with the command that retries
 * them.
 */
export async function causesOf(daemon: Daemon, route: string): Promise<JsonObject[]> {
  const found = await daemon
    .invoke('dead-letter-groups', { queue: 'dispatch', group: route })
    .catch(() => null)
  return objectsIn(found).map(({ code, common, pattern, count, tests, first, last }) => ({
    ...defined({ count, tests, error: common, code, pattern, first, last }),
    command: ['trivium dead-letter retry --all --queue dispatch --route', route, '--pattern', pattern]
      .map((word, index) => (index === 0 ? word : shellWord(word)))
      .join(' '),
  }))
}

/**
 * What is wrong with some gateways, of the answer of `troubles`: those that refuse deliveries or do
 * not work. `what` and `why` are the short form of `title` and `text`.
 */
export function gatewayTroubles(found: Json, gateways: readonly string[]): JsonObject[] {
  return troublesIn(found).flatMap((trouble) => {
    const fault = gatewayFault(trouble)
    if (!fault || !gateways.includes(fault.gateway)) return []
    const { code, severity, title, text, todo, since, count } = trouble
    return [defined({ ...fault, code, severity, title, text, todo, since, count })]
  })
}

/** The troubles in the answer of `troubles`. */
function troublesIn(found: Json): JsonObject[] {
  return objectsIn(Array.isArray(found) ? found : pathGet(found, 'troubles'))
}
