import type { TransportDeps } from '../../../src/core/transport.ts'
import { pause } from '../../../src/lib/pause.ts'
import type { Ingest, Ingested } from '../inbound/ingest.ts'
import type { EmailOptions } from '../options.ts'
import { type Aside, type Cursor, createCursorStore } from './cursor.ts'
import { type Failures, type Fetched, fetchAll, TRIES } from './fetch.ts'
import type { ImapConnection } from './imap-connection.ts'
import { putAway } from './put-away.ts'

/** What reading works with, in all folders. */
export type ReadingParts = {
  options: EmailOptions
  deps: TransportDeps
  ingest: Ingest
  /** How long a mail may be undecided (ms). */
  patience: number
}

type FolderParts = ReadingParts & {
  connection: ImapConnection
  folder: string
  /** Of the lease, by which the cursor is fenced. */
  token: number
  /** What outlives a connection: failed fetches, and when mails that were set aside were tried last (Unix ms). */
  memory: { failures: Failures; tried: Map<number, number> }
  /** From when on mail is new (Unix ms). */
  startedAt: number
  /** Called whenever mails were dealt with, and when the server answered that there are no more. */
  onProgress(aside: readonly Aside[]): void
}

const DAY = 86_400_000
/** A mail that was delivered late carries an earlier date than one read before it. */
const OVERLAP = 2 * DAY
/** So long a store knows the keys of messages. */
const KNOWN = 7 * DAY

/**
 * Reads a folder until `signal` aborts. The cursor passes a mail that is dealt with or noted in it as set aside. Rejects
 * when the connection fails; called again, it goes on where the cursor stands.
 */
export async function readFolder(parts: FolderParts, stopped: AbortSignal): Promise<void> {
  const { connection, folder, options, deps, memory, patience, startedAt } = parts
  const { client, closed, run, search } = connection
  const { log, now } = deps
  const { since, after, quarantine, 'max-size': maxSize } = options
  const { load, save } = createCursorStore(deps.kv, deps.gateway, folder, parts.token)
  // Where nothing on the server is ever changed, nothing can be.
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
    // The server's dates are whole seconds.
    const started =
      since === 'now' ? Math.floor(startedAt / 1000) * 1000 : since === 'all' ? 0 : Date.parse(since)
    const newest = stored?.newest ?? started
    // After that time keys are not known, but nothing is on its way any more either.
    const overlap = now() - newest > KNOWN - OVERLAP ? -1 : OVERLAP
    const floor = stored ? Math.max(stored.floor, newest - overlap) : started
    return save({ uidValidity, uid: 0, until: uidNext, newest, floor, aside: [] })
  }

  /** Sets the mail aside that failed alone too often, so that what stands behind it is read. */
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

  /** When to try a mail again that was set aside: after as long as it has waited, within bounds; at once after a start. */
  const dueAt = ({ uid, since, unfetchable }: Aside): number => {
    const last = memory.tried.get(uid)
    if (last === undefined) return 0
    const [shortest, longest] = unfetchable ? [patience / 5, patience * 12] : [patience / 20, patience / 5]
    return last + Math.min(longest, Math.max(shortest, last - since))
  }

  const catchUp = async (start: Cursor): Promise<Cursor> => {
    let cursor = start
    const due = cursor.aside.filter((each) => dueAt(each) <= now())
    // One that cannot be fetched alone and last: the connection may end there, and what comes after it is not read.
    const hard = due.filter((each) => each.unfetchable).slice(0, 1)
    const undecided = due.filter((each) => !each.unfetchable)
    const again = [...undecided, ...hard].map(({ uid }) => uid)
    for (const { uid } of hard) memory.failures.set(uid, memory.failures.get(uid) ?? 0)
    for (const uid of again) memory.tried.set(uid, now())
    const uids = [...(await newUids(cursor)), ...again]
    const gone = new Set(again)
    const waited = ({ uid }: Fetched) => now() - (undecided.find((each) => each.uid === uid)?.since ?? now())
    // Moved or migrated mails stand in any order.
    const isWanted = (mail: { uid: number; internalDate: number }) =>
      mail.uid >= start.until || mail.internalDate >= start.floor
    const fetching = { connection, folder, maxSize, failures: memory.failures, isWanted, readAhead: readOnly }
    for await (const batch of fetchAll(uids, fetching)) {
      // Ending early would look like the end of the list, and the cursor would pass mails that nobody took. Where the next
      // mails, read ahead, ended the connection, these are taken: else it would end there again, for ever.
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
    // SEARCH knows days only, in the server's time zone; the exact time is compared when a mail is listed.
    const since = floor > DAY ? { since: new Date(floor - DAY) } : {}
    const old = after + 1 < until ? await search({ uid: `${after + 1}:${until - 1}`, ...since }) : []
    // `n:*` always gives the last mail, also when its UID is lower (RFC 3501, section 6.4.8).
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
    // IDLE ends by itself when the next command is sent. Where it fails, `closed` says so, or the sweep finds out.
    client.idle().catch((error) => log.debug({ folder, err: error }, 'IDLE ended'))
    const due = Math.min(...cursor.aside.map(dueAt)) - now()
    await pause(Math.min(options.sweep, Math.max(0, due)), woken)
    if (woken.aborted) continue
    // Of a folder that was deleted and made anew the old one is still open, and silent; STATUS tells of that one too.
    const seen = await run(() => client.mailboxOpen(folder, { readOnly }))
    if (String(seen.uidValidity) !== uidValidity) throw new Error(`${folder} was made anew`)
  }
  if (!stopped.aborted) throw closed.reason
}

/** The cursor behind a batch: what is undecided now is noted in it, what was decided is noted no more. */
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
