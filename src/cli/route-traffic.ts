import { type JsonObject, objectsIn, pathGet, textAt } from '../core/json.ts'
import { defined } from '../lib/defined.ts'
import type { Connection } from './connection.ts'
import { FAILED } from './route-work.ts'

/** Number of spans per count, and maximum number of calls, after which older messages stay uncounted. */
const SPANS = 60
const MAX_CALLS = 40

type Daemon = Pick<Connection, 'running' | 'invoke'>
type Range = { since: string; until?: string }
type Counts = ReadonlyMap<string, number>

/**
 * Adds to each route its `traffic` in a range: the messages that `arrived`, how many of them
 * `failed` (without tests) or have a reply that was `undelivered`, and of a route to a skill its ended `attempts` and `failedAttempts`,
 * whenever their messages arrived; and `lastAt`, when its last message arrived at any time. What
 * cannot be counted is left out.
 */
export async function withTraffic(
  daemon: Daemon,
  routes: readonly JsonObject[],
  range: Range,
): Promise<JsonObject[]> {
  if (!daemon.running) return [...routes]
  const letters = { queue: 'dispatch', arrivedSince: range.since, ...defined({ arrivedUntil: range.until }) }
  const ask = (operation: string, args: object) => daemon.invoke(operation, args).catch(() => null)
  const [arrived, failed, undelivered, groups, usages, lasts] = await Promise.all([
    countsOf(daemon, range),
    countsOf(daemon, { ...range, outcome: FAILED }),
    countsOf(daemon, { ...range, outcome: 'undelivered' }),
    ask('dead-letter-groups', letters),
    ask('skill-usage', range),
    ask('route-list', { last: true }),
  ])
  const tests = sumsOf(objectsIn(groups), 'group', 'tests')
  const callers = objectsIn(usages).flatMap((usage) => objectsIn(usage.callers))
  const ended = sumsOf(callers, 'by', 'runs')
  const ofThese = sumsOf(callers, 'by', 'failed')
  return routes.map((route) => {
    const name = String(route.name)
    const attempts = usages !== null && route.target === 'skill'
    const { lastAt } = objectsIn(lasts).find((each) => each.name === name) ?? {}
    const traffic = defined({
      arrived: arrived && (arrived.get(name) ?? 0),
      failed: failed && Math.max(0, (failed.get(name) ?? 0) - (tests.get(name) ?? 0)),
      undelivered: undelivered && (undelivered.get(name) ?? 0),
      attempts: attempts ? (ended.get(`route ${name}`) ?? 0) : undefined,
      failedAttempts: attempts ? (ofThese.get(`route ${name}`) ?? 0) : undefined,
    })
    return { ...route, traffic, ...defined({ lastAt }) }
  })
}

/** The messages of each route that match a filter; undefined if not all can be counted. */
async function countsOf(daemon: Daemon, filter: object): Promise<Counts | undefined> {
  const rows: JsonObject[] = []
  let more: object = { buckets: SPANS }
  for (let calls = 0; calls < MAX_CALLS; calls++) {
    const page = await daemon
      .invoke('message-histogram', { ...filter, routes: true, ...more })
      .catch(() => null)
    if (page === null) return undefined
    rows.push(...objectsIn(pathGet(page, 'routes')))
    const { from, width, countedTo } = Object(page)
    if (countedTo === undefined) return sumsOf(rows, 'route', 'count')
    more = { since: isoOf(from), until: isoOf(countedTo), width }
  }
  return undefined
}

function isoOf(at: number): string {
  return new Date(at).toISOString()
}

/** The sums of a field, by the name in another field. */
function sumsOf(rows: readonly JsonObject[], name: string, field: string): Counts {
  const sums = new Map<string, number>()
  for (const row of rows) {
    const key = textAt(row, name) ?? ''
    sums.set(key, (sums.get(key) ?? 0) + Number(row[field] ?? 0))
  }
  return sums
}
