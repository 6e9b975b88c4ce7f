import { type Json, type JsonObject, objectsIn } from '../core/json.ts'
import { defined } from '../lib/defined.ts'
import type { Connection } from './connection.ts'

/** Maximum number of calls for the conversations in which somebody waits; each is limited in time. */
const MAX_CALLS = 4
/** The limit of `conversation-list` without a `limit`. */
const DEFAULT_LIMIT = 50

/**
 * Runs `conversation-list`, and puts the conversations in which somebody waits for an answer first,
 * longest wait at the top, however old they are. A later page is as the daemon returns it.
 * `moreWaiting`: others wait too; `--unanswered` has them.
 */
export async function waitingFirst(
  { invoke }: Pick<Connection, 'invoke'>,
  { limit, ...args }: Omit<JsonObject, 'limit'> & { limit?: Json },
): Promise<Json> {
  const query = { ...args, ...defined({ limit }) }
  const page: JsonObject = Object(await invoke('conversation-list', query))
  if (args.before !== undefined || args.unanswered !== undefined) return page
  const most = Number(limit ?? DEFAULT_LIMIT)
  const { waiting, isMore } = await readWaiting(invoke, args, most)
  const isWaiting = new Set(waiting.map(keyOf))
  const others = objectsIn(page.conversations).filter((row) => !isWaiting.has(keyOf(row)))
  // The next page begins after the last of the others, so there is at least one.
  const kept = others.slice(0, Math.max(1, most - waiting.length))
  return {
    ...page,
    conversations: [...waiting, ...kept],
    ...(kept.length < others.length && { next: kept.at(-1)?.id ?? null }),
    ...(isMore && { moreWaiting: true }),
  }
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

function keyOf({ gateway, conversation }: JsonObject): string {
  return JSON.stringify([gateway, conversation])
}
