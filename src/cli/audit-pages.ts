import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { defined } from '../lib/defined.ts'
import type { Connection } from './connection.ts'

/** Entries of one call. */
const PAGE = 1_000
const DECISION = 'approval-decide'

type Caller = Pick<Connection, 'invoke'>

/** The entries of all pages, unless the number is limited. */
export async function withOlder(connection: Caller, filter: JsonObject): Promise<Json> {
  if (filter.limit !== undefined) return pageOf(connection, filter)
  const entries: Json[] = []
  let { before } = filter
  do {
    const page = Object(await pageOf(connection, { ...filter, limit: PAGE, ...defined({ before }) }))
    entries.push(...objectsIn(page.entries))
    before = page.next
  } while (before !== undefined)
  return { entries }
}

/** Adds the titles of decided requests, which the log itself does not keep. */
export async function withTitles(connection: Caller, filter: JsonObject): Promise<Json> {
  const answer = await pageOf(connection, filter)
  const isNeeded = objectsIn(pathGet(answer, 'entries')).some(({ action }) => action === DECISION)
  if (!isNeeded || !isJsonObject(answer)) return answer
  return { ...answer, titles: await titlesOf(connection) }
}

/** One page; `what` is also looked for in the titles of decided requests. */
async function pageOf(connection: Caller, filter: JsonObject): Promise<Json> {
  const page = await connection.invoke('audit-list', filter)
  const { what, action = DECISION, id } = filter
  if (typeof what !== 'string' || id !== undefined || action !== DECISION || !isJsonObject(page)) return page
  const { what: _, ...others } = filter
  const [decisions, titles] = await Promise.all([
    connection.invoke('audit-list', { ...others, action, limit: PAGE }),
    titlesOf(connection),
  ])
  const entries = objectsIn(page.entries)
  const known = new Set(entries.map((entry) => entry.id))
  // Older entries are on the next page.
  const oldest = page.next === undefined ? 0 : Number(entries.at(-1)?.at ?? 0)
  const wanted = what.toLowerCase()
  const byTitle = objectsIn(pathGet(decisions, 'entries')).filter((entry) => {
    const title = titles[String(pathGet(entry, 'target.id'))]
    const isFound = typeof title === 'string' && title.toLowerCase().includes(wanted)
    return isFound && !known.has(entry.id) && Number(entry.at) >= oldest
  })
  return { ...page, entries: [...entries, ...byTitle].toSorted((a, b) => Number(b.at) - Number(a.at)) }
}

/** The titles of requests by id. */
async function titlesOf(connection: Caller): Promise<JsonObject> {
  const requests = objectsIn(await connection.invoke('approval-list', { limit: PAGE }).catch(() => []))
  return Object.fromEntries(requests.map(({ id, title }) => [String(id), title ?? null]))
}
