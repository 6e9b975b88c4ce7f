import { timeOf } from '../core/message-id.ts'
import type { Journal } from '../core/store.ts'

/** `searchedTo` (Unix ms): no message since then; the next call searches older parts. */
export type LastMessage = { at?: number; searchedTo?: number }

/**
 * Makes a function that finds when the last message of a gateway arrived (Unix ms). A search covers
 * a limited part of the journal, so a call reads the newest part, and then one older part from
 * where the previous call stopped.
 */
export function createLastMessage(journal: Pick<Journal, 'search'>) {
  /** By gateway: what is known about older parts. */
  const known = new Map<string, { before: string } | { at: number | undefined }>()
  return async (gateway: string): Promise<LastMessage> => {
    const search = { gateways: [gateway], limit: 1, isPartial: true }
    const newest = await journal.search(search)
    const [match] = newest.found
    if (match) return { at: match.message.receivedAt }
    if (newest.next === undefined) return {}
    const older = known.get(gateway) ?? { before: newest.next }
    if ('at' in older) return older.at === undefined ? {} : { at: older.at }
    const { found, next, away } = await journal.search({ ...search, ...older })
    const at = found[0]?.message.receivedAt
    const isDone = at !== undefined || next === undefined
    // An unreachable shard may have a newer message.
    if (!away) known.set(gateway, isDone ? { at } : { before: next })
    if (at !== undefined) return { at }
    return next === undefined ? {} : { searchedTo: timeOf(next) }
  }
}
