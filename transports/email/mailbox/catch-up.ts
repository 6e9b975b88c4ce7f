import type { Ingested } from '../inbound/incoming.ts'
import type { Aside, Cursor } from './cursor.ts'
import { type Fetched, fetchAll } from './fetch.ts'
import { putAway } from './put-away.ts'
import type { OpenFolder } from './reading.ts'

const DAY = 86_400_000

/** Processes the new mails of a folder, and those set aside that are due. Resolves with the cursor behind them. */
export async function catchUp(start: Cursor, opened: OpenFolder): Promise<Cursor> {
  const { connection, folder, options, deps, memory, readOnly, stopped, signal, save } = opened
  const { after, quarantine, 'max-size': maxSize } = options
  const { log, now } = deps
  const { undecided, again } = dueAgain(start, opened)
  const uids = [...(await newUids(start, opened)), ...again]
  const gone = new Set(again)
  const waited = ({ uid }: Fetched) => now() - (undecided.find((each) => each.uid === uid)?.since ?? now())
  // Moved and migrated mails may be in any order.
  const isWanted = (mail: { uid: number; internalDate: number }) =>
    mail.uid >= start.until || mail.internalDate >= start.floor
  const fetching = { connection, folder, maxSize, failures: memory.failures, isWanted, readAhead: readOnly }
  let cursor = start
  for await (const batch of fetchAll(uids, fetching)) {
    // Ending early would look like the end of the list, and the cursor would skip mails. If the next mails, read ahead,
    // ended the connection, these are still processed, as otherwise this would repeat for ever.
    if (!readOnly || stopped.aborted) signal.throwIfAborted()
    const results = await opened.ingest(batch, waited)
    await putAway(connection, batch, results, { after, quarantine, log })
    opened.onProgress(start.aside)
    cursor = await save(behind(cursor, batch, results, now()))
    for (const { uid } of batch) gone.delete(uid)
  }
  if (gone.size === 0 && cursor.uid >= cursor.until - 1) return cursor
  if (gone.size > 0)
    log.warn({ folder, uids: [...gone] }, 'mails that were set aside no longer exist in their folder')
  const aside = cursor.aside.filter(({ uid }) => !gone.has(uid))
  return save({ ...cursor, uid: Math.max(cursor.uid, cursor.until - 1), aside })
}

/** The mails set aside that are due, which count as tried now. */
function dueAgain(cursor: Cursor, opened: OpenFolder): { undecided: Aside[]; again: number[] } {
  const { memory, deps } = opened
  const due = cursor.aside.filter((each) => dueAt(each, opened) <= deps.now())
  // Unfetchable mails one at a time and last, because the connection may end there.
  const hard = due.filter((each) => each.unfetchable).slice(0, 1)
  const undecided = due.filter((each) => !each.unfetchable)
  const again = [...undecided, ...hard].map(({ uid }) => uid)
  for (const { uid } of hard) memory.failures.set(uid, memory.failures.get(uid) ?? 0)
  for (const uid of again) memory.tried.set(uid, deps.now())
  return { undecided, again }
}

/** Next retry of a mail set aside: after as long as it has waited, within limits; immediately after a start. */
export function dueAt({ uid, since, unfetchable }: Aside, { memory, patience }: OpenFolder): number {
  const last = memory.tried.get(uid)
  if (last === undefined) return 0
  const [shortest, longest] = unfetchable ? [patience / 5, patience * 12] : [patience / 20, patience / 5]
  return last + Math.min(longest, Math.max(shortest, last - since))
}

async function newUids(
  { uid: after, until, floor, aside }: Cursor,
  { connection: { search } }: OpenFolder,
): Promise<number[]> {
  const before = new Set(aside.map(({ uid }) => uid))
  const first = Math.max(after + 1, until)
  // SEARCH only supports days, in the server's time zone; the exact time is checked when a mail is listed.
  const since = floor > DAY ? { since: new Date(floor - DAY) } : {}
  const old = after + 1 < until ? await search({ uid: `${after + 1}:${until - 1}`, ...since }) : []
  // `n:*` always includes the last mail, even if its UID is lower (RFC 3501, section 6.4.8).
  const found = [...old, ...(await search({ uid: `${first}:*` })).filter((uid) => uid >= first)]
  return found.filter((uid) => !before.has(uid))
}

/** The cursor after a batch: adds undecided mails, and removes decided ones. */
function behind(cursor: Cursor, batch: Fetched[], results: readonly Ingested[], now: number): Cursor {
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
