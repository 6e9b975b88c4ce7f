import { setMaxListeners } from 'node:events'
import type { Log } from '../../../src/core/log.ts'
import { pause } from '../../../src/lib/pause.ts'
import type { ImapConnection } from '../imap-connection.ts'
import type { EmailOptions } from '../options.ts'
import type { PutAway } from './afterwards.ts'
import type { Cursor, CursorStore, Undecided } from './cursor.ts'
import type { Doubts } from './doubts.ts'
import { type Batch, fetchAll, range } from './fetch.ts'
import type { Ingest, Ingested } from './ingest.ts'
import { ingestAll } from './ingest-all.ts'
import type { Spool } from './spool.ts'
import { createRetries, MOST_UNDECIDED, passBatch } from './undecided.ts'

/** What a folder's reader works with. */
export type FolderParts = {
  folder: string
  cursors: CursorStore
  ingest: Ingest
  spool: Spool
  doubts: Doubts
  since: EmailOptions['since']
  putAway: PutAway
  /** Nothing on the server is ever changed. */
  readOnly: boolean
  maxSize: number
  /** Ms between looks without being told. */
  sweep: number
  /** How long a mail may be undecided (ms). */
  patience: number
  /** Called whenever mails were dealt with, and when the server answered that there are no more. */
  onProgress(): void
  /** Called after each look with how many mails are set aside. */
  onAside(count: number): void
  log: Log
  now(): number
}

/** A mail that was delivered late carries an earlier date than one read before it. */
const OVERLAP = 2 * 86_400_000
/** Clocks differ, and the server's dates are whole seconds. */
const SKEW = 300_000
/** Without IDLE, looks come this often at least. */
const POLL = 30_000

/**
 * Reads a folder until `signal` aborts: catches up, waits in IDLE, catches up again. Each mail is dealt with before
 * the cursor passes it, or noted in it as undecided. Rejects when the connection fails; called again, it goes on where the cursor stands.
 */
export async function readFolder(
  connection: ImapConnection,
  parts: FolderParts,
  signal: AbortSignal,
): Promise<void> {
  const { client, closed } = connection
  const box = await connection.run(() => client.mailboxOpen(parts.folder, { readOnly: parts.readOnly }))
  parts.doubts.open(String(box.uidValidity))
  const either = AbortSignal.any([signal, closed])
  setMaxListeners(0, either)
  let changed = false
  let wake = () => {}
  client.on('exists', () => {
    changed = true
    wake()
  })

  let cursor = await openCursor(connection, parts, String(box.uidValidity), box.uidNext, either)
  const sweep = client.capabilities.has('IDLE') ? parts.sweep : Math.min(parts.sweep, POLL)
  const retries = createRetries(parts.patience, parts.now)
  while (!either.aborted) {
    changed = false
    const due = retries.due(cursor.undecided)
    const uids = [...due, ...(await newUids(connection, cursor.uid))]
    cursor = await drain(connection, parts, cursor, uids, either)
    cursor = await withoutGone(connection, parts, cursor, due)
    retries.tried(cursor.undecided, new Set(uids))
    parts.onAside(cursor.undecided.length)
    parts.onProgress()
    if (changed || either.aborted) continue
    const nap = new AbortController()
    wake = () => nap.abort()
    // IDLE ends by itself when the next command is sent. Where it fails, `closed` says so, or the sweep finds out.
    client.idle().catch((error) => parts.log.debug({ folder: parts.folder, err: error }, 'IDLE ended'))
    await pause(Math.min(sweep, retries.pause(cursor.undecided)), AbortSignal.any([either, nap.signal]))
  }
  if (!signal.aborted) throw closed.reason
}

async function openCursor(
  connection: ImapConnection,
  parts: FolderParts,
  uidValidity: string,
  uidNext: number,
  signal: AbortSignal,
): Promise<Cursor> {
  const { cursors, since, folder, log, now } = parts
  const stored = await cursors.load()
  if (stored?.uidValidity === uidValidity) {
    // A clock that was set back must not make a mail wait longer.
    const since = (each: Undecided) => Math.min(each.since, now())
    return { ...stored, undecided: stored.undecided.map((each) => ({ ...each, since: since(each) })) }
  }
  if (stored) {
    log.warn(
      { folder, was: stored.uidValidity, is: uidValidity },
      'the folder was renumbered; reconciling by Message-ID',
    )
    return reconcile(connection, parts, { ...stored, uidValidity, undecided: [] }, uidNext, signal)
  }
  const first = await firstCursor(connection, since, uidValidity, uidNext, now())
  await cursors.save(first, [])
  return first
}

async function firstCursor(
  connection: ImapConnection,
  since: EmailOptions['since'],
  uidValidity: string,
  uidNext: number,
  now: number,
): Promise<Cursor> {
  if (since === 'all') return { uidValidity, uid: 0, newest: 0, floor: 0, undecided: [] }
  if (since === 'now') return { uidValidity, uid: uidNext - 1, newest: now, floor: now, undecided: [] }
  const floor = Date.parse(since)
  const [oldest = uidNext] = await uidsSince(connection, floor)
  return { uidValidity, uid: oldest - 1, newest: floor, floor, undecided: [] }
}

/**
 * Takes what came lately and is not known by its key, then stands at the folder's end. What was undecided is among it,
 * as its key was not noted.
 */
async function reconcile(
  connection: ImapConnection,
  parts: FolderParts,
  stored: Cursor,
  uidNext: number,
  signal: AbortSignal,
): Promise<Cursor> {
  const floor = Math.max(stored.floor - SKEW, stored.newest - OVERLAP)
  const known = await parts.cursors.recent()
  // SEARCH knows days only, in the server's time zone; the exact time is compared below.
  const uids = await uidsSince(connection, floor - 86_400_000)
  let cursor = { ...stored, uid: 0 }
  const keys: string[] = []
  for await (const [batch, results] of takeAll(connection, parts, uids, { floor, known, cursor, signal })) {
    // However many: there is no cursor yet that could stop before one of them.
    const next = passBatch(cursor, batch, results, { most: Number.POSITIVE_INFINITY, now: parts.now() })
    cursor = next.cursor
    keys.push(...next.keys)
  }
  const done = { ...cursor, uid: Math.max(uidNext - 1, uids.at(-1) ?? 0) }
  await parts.cursors.save(done, keys)
  return done
}

async function uidsSince(connection: ImapConnection, time: number): Promise<number[]> {
  return numbers(
    await connection.run((client) => client.search({ since: new Date(Math.max(0, time)) }, { uid: true })),
  )
}

async function newUids(connection: ImapConnection, after: number): Promise<number[]> {
  // `n:*` always gives the last mail, also when its UID is lower (RFC 3501, section 6.4.8).
  const found = await connection.run((client) => client.search({ uid: `${after + 1}:*` }, { uid: true }))
  return numbers(found).filter((uid) => uid > after)
}

async function drain(
  connection: ImapConnection,
  parts: FolderParts,
  start: Cursor,
  uids: number[],
  signal: AbortSignal,
): Promise<Cursor> {
  let cursor = start
  const taking = { floor: 0, known: new Set<string>(), cursor, signal }
  for await (const [batch, results] of takeAll(connection, parts, uids, taking)) {
    const next = passBatch(cursor, batch, results, { most: MOST_UNDECIDED, now: parts.now() })
    cursor = next.cursor
    await parts.cursors.save(cursor, next.keys)
    if (!next.full) continue
    const { folder, log } = parts
    log.warn({ folder, uid: cursor.uid }, 'too many mails are set aside; those after this UID wait')
    break
  }
  return cursor
}

/** Forgets what was set aside and is not in the folder any more. */
async function withoutGone(
  connection: ImapConnection,
  parts: FolderParts,
  cursor: Cursor,
  due: readonly number[],
): Promise<Cursor> {
  if (!cursor.undecided.some(({ uid }) => due.includes(uid))) return cursor
  const query = { uid: range(cursor.undecided.map(({ uid }) => uid)) }
  const there = new Set(numbers(await connection.run((client) => client.search(query, { uid: true }))))
  const gone = cursor.undecided.filter(({ uid }) => !there.has(uid))
  if (gone.length === 0) return cursor
  for (const { uid } of gone) {
    parts.log.warn({ folder: parts.folder, uid }, 'a mail that was set aside is gone from its folder')
  }
  const left = { ...cursor, undecided: cursor.undecided.filter(({ uid }) => there.has(uid)) }
  await parts.cursors.save(left, [])
  return left
}

type Taking = { floor: number; known: ReadonlySet<string>; cursor: Cursor; signal: AbortSignal }

/**
 * Deals with mails batch by batch, in order of UID; the next batch is fetched while one is worked on. Yields a batch
 * when every mail of it is durable and moved away as configured. Rejects when `signal` aborts.
 */
async function* takeAll(
  connection: ImapConnection,
  parts: FolderParts,
  uids: number[],
  { floor, known, cursor, signal }: Taking,
): AsyncGenerator<[Batch, Ingested[]]> {
  const since = new Map(cursor.undecided.map((each) => [each.uid, each.since]))
  const waited = (uid: number) => parts.now() - (since.get(uid) ?? parts.now())
  const wanted = await parts.doubts.settle(connection, uids)
  for await (const batch of fetchAll(connection, wanted, floor, parts)) {
    // Ending early would look like the end of the list, and the cursor would pass mails that nobody took.
    signal.throwIfAborted()
    const ingesting = () => ingestAll(batch.incoming, parts.ingest, { known, waited, signal })
    const results = await connection.during(ingesting)
    await parts.putAway(connection, batch.incoming, results)
    parts.doubts.passed(batch.uids)
    parts.onProgress()
    yield [batch, results]
  }
}

/** imapflow answers false, and does not throw, where a search failed. */
function numbers(found: number[] | false | undefined): number[] {
  if (!found) throw new Error('the IMAP server refused to search the folder')
  return found.toSorted((a, b) => a - b)
}
