import { DAY } from '../../../src/core/units.ts'
import type { Ingested } from '../inbound/incoming.ts'
import { applyAfterOptions } from './after-options.ts'
import type { Aside, Cursor } from './cursor.ts'
import { type Fetched, fetchAll } from './fetch.ts'
import type { OpenFolder } from './reading.ts'

/**
 * Processes the new mails of a folder, and those set aside that are due. Resolves with the new
 * cursor.
 */
export async function catchUp(start: Cursor, opened: OpenFolder): Promise<Cursor> {
  const { connection, folder, options, deps, memory, readOnly, stopped, signal, save } = opened
  const { after, quarantine, 'max-size': maxSize } = options
  const { log, now } = deps
  const { undecided, retried } = takeDue(start, opened)
  const uids = [...(await newUids(start, opened)), ...retried]
  const missing = new Set(retried)
  const waited = ({ uid }: Fetched) => now() - (undecided.find((each) => each.uid === uid)?.since ?? now())
  // Mails below `until` may have been moved or migrated, so the order of their UIDs means nothing.
  const isWanted = (mail: { uid: number; internalDate: number }) =>
    mail.uid >= start.until || mail.internalDate >= start.floor
  const fetching = { connection, folder, maxSize, failures: memory.failures, isWanted, readAhead: readOnly }
  let cursor = start
  for await (const batch of fetchAll(uids, fetching)) {
    // Throws instead of returning: after a return, the cursor would skip the rest. If the folder is
    // read ahead, the next fetch may have ended the connection. This batch is processed
    // nevertheless; otherwise, the same would happen at each attempt.
    if (!readOnly || stopped.aborted) signal.throwIfAborted()
    const results = await opened.ingest(batch, waited)
    await applyAfterOptions(connection, batch, results, { after, quarantine, log })
    opened.onProgress(start.aside)
    cursor = await save(cursorAfter(cursor, batch, results, now()))
    for (const { uid } of batch) missing.delete(uid)
  }
  if (missing.size === 0 && cursor.uid >= cursor.until - 1) return cursor
  if (missing.size > 0)
    log.warn({ folder, uids: [...missing] }, 'mails that were set aside no longer exist in their folder')
  const aside = cursor.aside.filter(({ uid }) => !missing.has(uid))
  return save({ ...cursor, uid: Math.max(cursor.uid, cursor.until - 1), aside })
}

/**
 * Takes the mails set aside that are due for a retry. They count as tried now. `undecided`: those
 * that can be fetched. `retried`: the UIDs of all.
 */
function takeDue(cursor: Cursor, opened: OpenFolder): { undecided: Aside[]; retried: number[] } {
  const { memory, deps } = opened
  const due = cursor.aside.filter((each) => dueAt(each, opened) <= deps.now())
  // Only one unfetchable mail, and last, because the connection may end there.
  const unfetchable = due.filter((each) => each.unfetchable).slice(0, 1)
  const undecided = due.filter((each) => !each.unfetchable)
  const retried = [...undecided, ...unfetchable].map(({ uid }) => uid)
  // Mails with an entry in `failures` are fetched one at a time.
  for (const { uid } of unfetchable) memory.failures.set(uid, memory.failures.get(uid) ?? 0)
  for (const uid of retried) memory.triedAt.set(uid, deps.now())
  return { undecided, retried }
}

/**
 * When (Unix ms) a mail set aside is tried again: after a pause as long as it has waited so far,
 * within limits; immediately after a start.
 */
export function dueAt({ uid, since, unfetchable }: Aside, { memory, decisionTimeout }: OpenFolder): number {
  const last = memory.triedAt.get(uid)
  if (last === undefined) return 0
  const shortest = decisionTimeout / (unfetchable ? 5 : 20)
  const longest = unfetchable ? decisionTimeout * 12 : decisionTimeout / 5
  return last + Math.min(longest, Math.max(shortest, last - since))
}

/** The UIDs after the cursor, without mails that are set aside. */
async function newUids(
  { uid: after, until, floor, aside }: Cursor,
  { connection: { search } }: OpenFolder,
): Promise<number[]> {
  const asideUids = new Set(aside.map(({ uid }) => uid))
  const first = Math.max(after + 1, until)
  // SEARCH only supports days, in the server's time zone; the exact time is checked when a mail is
  // listed.
  const since = floor > DAY ? { since: new Date(floor - DAY) } : {}
  const old = after + 1 < until ? await search({ uid: `${after + 1}:${until - 1}`, ...since }) : []
  // `n:*` always includes the last mail, even if its UID is lower (RFC 3501, section 6.4.8).
  const found = [...old, ...(await search({ uid: `${first}:*` })).filter((uid) => uid >= first)]
  return found.filter((uid) => !asideUids.has(uid))
}

/** The cursor after a batch: adds undecided mails to those set aside, and removes decided ones. */
function cursorAfter(cursor: Cursor, batch: Fetched[], results: readonly Ingested[], now: number): Cursor {
  const aside = new Map(cursor.aside.map((each) => [each.uid, each]))
  for (const [at, { uid }] of batch.entries()) {
    const before = aside.get(uid)
    if (results[at]?.outcome !== 'undecided') aside.delete(uid)
    else if (!before || before.unfetchable) aside.set(uid, { uid, since: now })
  }
  return {
    ...cursor,
    uid: Math.max(cursor.uid, ...batch.map(({ uid }) => uid)),
    newest: Math.max(cursor.newest, ...batch.map(({ internalDate }) => internalDate)),
    aside: [...aside.values()],
  }
}
