import { type Json, type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { defined } from '../lib/defined.ts'
import type { Connection } from './connection.ts'

/** Maximum number of calls for the conversations in which somebody waits; each is limited in time. */
const MAX_CALLS = 4
/** The limit of `conversation-list` without a `limit`. */
const DEFAULT_LIMIT = 50

/**
 * Runs `conversation-list`, and puts the conversations in which somebody waits for an answer first,
 * longest wait at the top, however old they are. The others follow, those with the newest message
 * or answer first. A later page is as the daemon returns it.
 * `moreWaiting`: others wait too; `--unanswered` has them.
 */
export async function waitingFirst(
  { invoke }: Pick<Connection, 'invoke'>,
  { limit, ...args }: Omit<JsonObject, 'limit'> & { limit?: Json },
): Promise<Json> {
  const query = { ...args, ...defined({ limit }) }
  const page: JsonObject = Object(await invoke('conversation-list', query))
  if (args.before !== undefined || args.unanswered !== undefined || args.undelivered !== undefined)
    return page
  const most = Number(limit ?? DEFAULT_LIMIT)
  const found = await readWaiting(invoke, args, most)
  const rows = objectsIn(page.conversations)
  // The next page begins after the last of the others, so one place is for one of them. A list of
  // one row has no next page.
  const hasOthers = without(rows, found.waiting).length > 0
  const waiting = hasOthers ? found.waiting.slice(0, Math.max(1, most - 1)) : found.waiting
  const others = without(rows, waiting)
  const kept = others.slice(0, most - waiting.length)
  const { next: nextOfPage, ...rest } = page
  const next = kept.length < others.length ? kept.at(-1)?.id : nextOfPage
  return {
    ...rest,
    conversations: [...waiting, ...kept.toSorted((a, b) => activityOf(b) - activityOf(a))],
    ...defined({ next }),
    ...((found.isMore || waiting.length < found.waiting.length) && { moreWaiting: true }),
  }
}

function without(rows: readonly JsonObject[], left: readonly JsonObject[]): JsonObject[] {
  const keys = new Set(left.map(keyOf))
  return rows.filter((row) => !keys.has(keyOf(row)))
}

async function readWaiting(invoke: Connection['invoke'], args: JsonObject, limit: number) {
  const found = new Map<string, JsonObject>()
  const most = Math.max(limit, DEFAULT_LIMIT)
  let next: Json | undefined
  for (let calls = 0; calls < MAX_CALLS && found.size < most; calls++) {
    const query = { ...args, ...defined({ before: next }), unanswered: true, limit: most - found.size }
    const page: JsonObject = Object(await invoke('conversation-list', query))
    for (const row of objectsIn(page.conversations)) found.set(keyOf(row), row)
    next = page.next
    if (next === undefined) break
  }
  const longestFirst = [...found.values()].toSorted((a, b) => Number(a.waitingSince) - Number(b.waitingSince))
  return { waiting: longestFirst.slice(0, limit), isMore: next !== undefined || found.size > limit }
}

/** When either side wrote last (Unix ms). */
function activityOf({ at, reply }: JsonObject): number {
  return Math.max(Number(at), Number(pathGet(reply ?? null, 'at') ?? 0))
}

function keyOf({ gateway, conversation }: JsonObject): string {
  return JSON.stringify([gateway, conversation])
}
