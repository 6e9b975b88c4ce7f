import { type Json, type JsonObject, objectsIn } from '../core/json.ts'
import { defined } from '../lib/defined.ts'
import { lastSaidAt } from '../lib/last-said.ts'
import { inWaitingOrder } from '../lib/waiting-order.ts'
import type { Connection } from './connection.ts'

/** Maximum number of calls for the conversations in which somebody waits; each is limited in time. */
const MAX_CALLS = 4
/** The limit of `conversation-list` without a `limit`. */
const DEFAULT_LIMIT = 50

/** Arguments that restrict the list to conversations in which somebody waits. */
const ALONE = ['unanswered', 'forPerson', 'undelivered']

/**
 * Runs `conversation-list`, and puts the conversations in which somebody waits for an answer first,
 * in the order of the console, however old they are. If they fill the list, it has no others and no
 * next page. Otherwise the others follow, those with the newest message or answer first. A list of
 * the waiting ones alone is in the same order. A later page is as the daemon returns it.
 * `moreWaiting`: others wait too, `waiting`: how many in all, or `more` than these. `moreOthers`:
 * all who wait are shown, and there was no room for other conversations.
 */
export async function waitingFirst(
  { invoke }: Pick<Connection, 'invoke'>,
  { limit, ...args }: Omit<JsonObject, 'limit'> & { limit?: Json },
): Promise<Json> {
  const query = { ...args, ...defined({ limit }) }
  const most = Number(limit ?? DEFAULT_LIMIT)
  const areAlone = ALONE.some((name) => args[name] !== undefined)
  if (args.before === undefined && areAlone) return onlyWaiting(await readWaiting(invoke, args, most))
  const page: JsonObject = Object(await invoke('conversation-list', query))
  if (args.before !== undefined) return page
  const found = await readWaiting(invoke, { ...args, unanswered: true }, most)
  const { conversations, next: nextOfPage, ...rest } = page
  const others = without(objectsIn(conversations), found.waiting)
  const kept = firstOf(others, most - found.waiting.length)
  const next = kept.length < others.length ? kept.at(-1)?.id : nextOfPage
  const isCut = found.next !== undefined || found.waiting.length < found.count
  return {
    ...rest,
    conversations: [
      ...found.waiting,
      ...kept.toSorted((a, b) => lastSaidAt(Object(b)) - lastSaidAt(Object(a))),
    ],
    ...(kept.length > 0 && defined({ next })),
    ...(isCut && { moreWaiting: true, waiting: countOf(found) }),
    ...(!isCut && kept.length === 0 && others.length > 0 && { moreOthers: true }),
  }
}

/**
 * Those that come first. If the list leaves out some that were read, it has no next page, which would
 * begin after these: a higher limit shows them.
 */
function onlyWaiting(found: Waiting): Json {
  const { waiting, count, next, rest } = found
  const isCut = waiting.length < count
  return {
    ...rest,
    conversations: waiting,
    ...(isCut ? { moreWaiting: true, waiting: countOf(found) } : defined({ next })),
  }
}

/** `waiting`: up to the limit of a list, of `count`. `next`: where those begin that were not read. */
type Waiting = { waiting: JsonObject[]; count: number; next?: Json; rest: JsonObject }

function countOf({ count, next }: Waiting): JsonObject {
  return { count, more: next !== undefined }
}

/**
 * The first rows of a page. The next page begins after a row that is placed by its message, so the
 * last row must be one. Rows with `answeredAt` are placed by an answer.
 */
function firstOf(rows: readonly JsonObject[], most: number): readonly JsonObject[] {
  if (rows.length <= most || most === 0) return rows.slice(0, most)
  const isByMessage = ({ answeredAt }: JsonObject) => answeredAt === undefined
  const first = rows.slice(0, most)
  const end = first.findLastIndex(isByMessage) + 1
  if (end > 0) return first.slice(0, end)
  const next = rows.find(isByMessage)
  return next ? [...first.slice(0, -1), next] : rows
}

function without(rows: readonly JsonObject[], left: readonly JsonObject[]): JsonObject[] {
  const keys = new Set(left.map(keyOf))
  return rows.filter((row) => !keys.has(keyOf(row)))
}

async function readWaiting(invoke: Connection['invoke'], args: JsonObject, limit: number): Promise<Waiting> {
  const found = new Map<string, JsonObject>()
  const most = Math.max(limit, DEFAULT_LIMIT)
  let next: Json | undefined
  let rest: JsonObject = {}
  for (let calls = 0; calls < MAX_CALLS && found.size < most; calls++) {
    const query = { ...args, ...defined({ before: next }), limit: most - found.size }
    const { conversations, next: later, ...others } = Object(await invoke('conversation-list', query))
    for (const row of objectsIn(conversations)) found.set(keyOf(row), row)
    next = later
    rest = { ...rest, ...others }
    if (next === undefined) break
  }
  const waiting = inWaitingOrder([...found.values()]).slice(0, limit)
  return { waiting, count: found.size, rest, ...defined({ next }) }
}

function keyOf({ gateway, conversation }: JsonObject): string {
  return JSON.stringify([gateway, conversation])
}
