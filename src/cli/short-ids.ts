import { type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { usage } from './command.ts'
import type { Connection } from './connection.ts'

/** The end of an id, as lists at a terminal show it. */
const SHORT = /^…?([0-9a-f]{8})$/
/** Number of newest messages and dead letters among which a short id is looked for. */
const SEARCHED = 2_000
const PAGE_SIZE = 500

/**
 * The whole id for the end of one, among the newest messages and dead letters. Other texts, and ends that no id has, are
 * unchanged. Throws `usage` if several ids end like this.
 */
export async function fullId(daemon: Pick<Connection, 'invoke'>, id: string): Promise<string> {
  const [, end] = SHORT.exec(id) ?? []
  if (end === undefined) return id
  const ids = new Set<string>()
  const add = (found: readonly JsonObject[]) => {
    for (const each of found) if (typeof each.id === 'string' && each.id.endsWith(end)) ids.add(each.id)
  }
  add(objectsIn(await daemon.invoke('dead-letter-list', { limit: PAGE_SIZE })))
  let before: string | undefined
  for (let seen = 0; seen < SEARCHED && ids.size === 0; seen += PAGE_SIZE) {
    const page = await daemon.invoke('message-search', { limit: PAGE_SIZE, ...(before && { before }) })
    add(objectsIn(pathGet(page, 'messages')))
    const next = pathGet(page, 'next')
    if (typeof next !== 'string') break
    before = next
  }
  const [found, other] = ids
  if (other !== undefined)
    throw usage(`Several ids end with ${end}: ${[...ids].join(', ')}. Give the whole id.`)
  return found ?? id
}
