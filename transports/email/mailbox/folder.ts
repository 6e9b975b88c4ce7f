import type { TransportDeps } from '../../../src/core/transport.ts'
import { pause } from '../../../src/lib/pause.ts'
import type { Ingested } from '../inbound/ingest.ts'
import type { EmailOptions } from '../options.ts'
import { type Aside, type Cursor, createCursorStore } from './cursor.ts'
import { type Failures, type Fetched, fetchAll, TRIES } from './fetch.ts'
import type { ImapConnection } from './imap-connection.ts'
import { putAway } from './put-away.ts'

/** Dependencies of reading, for all folders. */
export type ReadingParts = {
  deps: TransportDeps
  /** How long (ms) a mail may stay undecided. */
  patience: number
}

/** A folder that is read, and what becomes of its mails. `waited`: for how long one has been undecided (ms). */
export type FolderReading = {
  folder: string
  options: Pick<EmailOptions, 'since' | 'after' | 'quarantine' | 'max-size' | 'sweep'>
  ingest(batch: readonly Fetched[], waited: (mail: Fetched) => number): Promise<Ingested[]>
}

type FolderParts = ReadingParts &
  FolderReading & {
    connection: ImapConnection
    /** The lease's fencing token for the cursor. */
    token: number
    /** State across connections: failed fetches, and last retries of mails set aside (Unix ms). */
    memory: { failures: Failures; tried: Map<number, number> }
    /** Start time, from which mail is new (Unix ms). */
    startedAt: number
    /** Called after mails were processed, and when the server has no more. */
    onProgress(aside: readonly Aside[]): void
  }

const DAY = 86_400_000
/** Overlap for mails delivered late, with an earlier date than already read ones. */
const OVERLAP = 2 * DAY
/** How long the store keeps message keys. */
const KNOWN = 7 * DAY

/**
 * Reads a folder until `signal` aborts. The cursor advances past mails that are processed or set aside. Rejects if the connection fails;
 * the next call continues at the cursor.
 */
export async function readFolder(parts: FolderParts, stopped: AbortSignal): Promise<void> {
  const { connection, folder, options, deps, memory, patience, startedAt } = parts
  const { client, closed, run, search } = connection
  const { log, now } = deps
  const { since, after, quarantine, 'max-size': maxSize } = options
  const { load, save } = createCursorStore(deps.kv, deps.gateway, folder, parts.token)
  // Read-only unless the options change mails on the server.
  const readOnly = after === 'keep' && !quarantine
  const { uidNext, ...box } = await run(() => client.mailboxOpen(folder, { readOnly }))
  const uidValidity = String(box.uidValidity)
  const signal = AbortSignal.any([stopped, closed])
  let news = new AbortController()
  client.on('exists', () => news.abort())

  const openCursor = async (): Promise<Cursor> => {
    const stored = await load()
    if (stored?.uidValidity === uidValidity) return stored
    if (stored) log.warn({ folder, was: stored.uidValidity }, 'the folder was renumbered; reading anew')
    // The server's dates have whole seconds.
    const started =
      since === 'now' ? Math.floor(startedAt / 1000) * 1000 : since === 'all' ? 0 : Date.parse(since)
    const newest = stored?.newest ?? started
    // After that time keys have expired, but no mail is still in transit either.
    const overlap = now() - newest > KNOWN - OVERLAP ? -1 : OVERLAP
    const floor = stored ? Math.max(stored.floor, newest - overlap) : started
    return save({ uidValidity, uid: 0, until: uidNext, newest, floor, aside: [] })
  }

  /** Sets aside a mail that failed too often, so that later ones are read. */
  const withUnfetchable = async (cursor: Cursor): Promise<Cursor> => {
    const [uid] = [...memory.failures].find(([, times]) => times >= TRIES) ?? []
    if (uid === undefined) return cursor
    memory.failures.delete(uid)
    if (cursor.aside.some((each) => each.uid === uid)) return cursor
    deps.refused('unfetchable', { why: `the mail ${uid} in ${folder} cannot be fetched` })
    log.error({ folder, uid }, 'a mail cannot be fetched; it is set aside and tried again')
    memory.tried.set(uid, now())
    return save({ ...cursor, aside: [...cursor.aside, { uid, since: now(), unfetchable: true }] })
  }

  /** Next retry of a mail set aside: after as long as it has waited, within limits; immediately after a start. */
  const dueAt = ({ uid, since, unfetchable }: Aside): number => {
    const last = memory.tried.get(uid)
    if (last === undefined) return 0
    const [shortest, longest] = unfetchable ? [patience / 5, patience * 12] : [patience / 20, patience / 5]
    return last + Math.min(longest, Math.max(shortest, last - since))
  }

  const catchUp = async (start: Cursor): Promise<Cursor> => {
    let cursor = start
    const due = cursor.aside.filter((each) => dueAt(each) <= now())
    // Unfetchable mails one at a time and last, because the connection may end there.
    const hard = due.filter((each) => each.unfetchable).slice(0, 1)
    const undecided = due.filter((each) => !each.unfetchable)
    const again = [...undecided, ...hard].map(({ uid }) => uid)
    for (const { uid } of hard) memory.failures.set(uid, memory.failures.get(uid) ?? 0)
    for (const uid of again) memory.tried.set(uid, now())
    const uids = [...(await newUids(cursor)), ...again]
    const gone = new Set(again)
    const waited = ({ uid }: Fetched) => now() - (undecided.find((each) => each.uid === uid)?.since ?? now())
    // Moved and migrated mails may be in any order.
    const isWanted = (mail: { uid: number; internalDate: number }) =>
      mail.uid >= start.until || mail.internalDate >= start.floor
    const fetching = { connection, folder, maxSize, failures: memory.failures, isWanted, readAhead: readOnly }
    for await (const batch of fetchAll(uids, fetching)) {
      // Ending early would look like the end of the list, and the cursor would skip mails. If the next mails, read ahead,
      // ended the connection, these are still processed, as otherwise this would repeat for ever.
      if (!readOnly || stopped.aborted) signal.throwIfAborted()
      const results = await parts.ingest(batch, waited)
      await putAway(connection, batch, results, { after, quarantine, log })
      parts.onProgress(start.aside)
      cursor = await save(behind(cursor, batch, results, now()))
      for (const { uid } of batch) gone.delete(uid)
    }
    if (gone.size === 0 && cursor.uid >= cursor.until - 1) return cursor
    if (gone.size > 0)
      log.warn({ folder, uids: [...gone] }, 'mails that were set aside are gone from their folder')
    const aside = cursor.aside.filter(({ uid }) => !gone.has(uid))
    return save({ ...cursor, uid: Math.max(cursor.uid, cursor.until - 1), aside })
  }

  const newUids = async ({ uid: after, until, floor, aside }: Cursor): Promise<number[]> => {
    const before = new Set(aside.map(({ uid }) => uid))
    const first = Math.max(after + 1, until)
    // SEARCH only supports days, in the server's time zone; the exact time is checked when a mail is listed.
    const since = floor > DAY ? { since: new Date(floor - DAY) } : {}
    const old = after + 1 < until ? await search({ uid: `${after + 1}:${until - 1}`, ...since }) : []
    // `n:*` always includes the last mail, even if its UID is lower (RFC 3501, section 6.4.8).
    const found = [...old, ...(await search({ uid: `${first}:*` })).filter((uid) => uid >= first)]
    return found.filter((uid) => !before.has(uid))
  }

  let cursor = await withUnfetchable(await openCursor())
  while (!signal.aborted) {
    news = new AbortController()
    const woken = AbortSignal.any([signal, news.signal])
    cursor = await catchUp(cursor)
    parts.onProgress(cursor.aside)
    if (woken.aborted) continue
    // IDLE ends with the next command. Failures show in `closed` or in the next sweep.
    client.idle().catch((error) => log.debug({ folder, err: error }, 'IDLE ended'))
    const due = Math.min(...cursor.aside.map(dueAt)) - now()
    await pause(Math.min(options.sweep, Math.max(0, due)), woken)
    if (woken.aborted) continue
    // If a folder was deleted and recreated, the old one stays open and silent, also for STATUS.
    const seen = await run(() => client.mailboxOpen(folder, { readOnly }))
    if (String(seen.uidValidity) !== uidValidity) throw new Error(`${folder} was made anew`)
  }
  if (!stopped.aborted) throw closed.reason
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
