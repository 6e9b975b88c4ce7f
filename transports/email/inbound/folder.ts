import { setMaxListeners } from 'node:events'
import type { Log } from '../../../src/core/log.ts'
import type { ImapConnection } from '../imap-connection.ts'
import type { EmailOptions } from '../options.ts'
import type { PutAway } from './afterwards.ts'
import type { Cursor, CursorStore } from './cursor.ts'
import { delay } from './delay.ts'
import type { Doubts } from './doubts.ts'
import { type Batch, fetchAll } from './fetch.ts'
import type { Incoming, Ingest, Ingested, Turn } from './ingest.ts'
import type { Spool } from './spool.ts'

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
  /** Called whenever mails were dealt with, and when the server answered that there are no more. */
  onProgress(): void
  log: Log
  now(): number
}

/** Mails of one batch that are worked on at once; each may wait for DNS or the disk. */
const CONCURRENCY = 32
/** A mail that was delivered late carries an earlier date than one read before it. */
const OVERLAP = 2 * 86_400_000
/** Clocks differ, and the server's dates are whole seconds. */
const SKEW = 300_000
/** Without IDLE, looks come this often at least. */
const POLL = 30_000

/**
 * Reads a folder until `signal` aborts: catches up, waits in IDLE, catches up again. Each mail is dealt with before
 * the cursor passes it. Rejects when the connection fails; called again, it goes on where the cursor stands.
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
  while (!either.aborted) {
    changed = false
    cursor = await drain(connection, parts, cursor, await newUids(connection, cursor.uid), either)
    parts.onProgress()
    if (changed || either.aborted) continue
    const nap = new AbortController()
    wake = () => nap.abort()
    // IDLE ends by itself when the next command is sent. Where it fails, `closed` says so, or the sweep finds out.
    client.idle().catch((error) => parts.log.debug({ folder: parts.folder, err: error }, 'IDLE ended'))
    await delay(sweep, AbortSignal.any([either, nap.signal]))
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
  if (stored?.uidValidity === uidValidity) return stored
  if (stored) {
    log.warn(
      { folder, was: stored.uidValidity, is: uidValidity },
      'the folder was renumbered; reconciling by Message-ID',
    )
    return reconcile(connection, parts, { ...stored, uidValidity }, uidNext, signal)
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
  if (since === 'all') return { uidValidity, uid: 0, newest: 0, floor: 0 }
  if (since === 'now') return { uidValidity, uid: uidNext - 1, newest: now, floor: now }
  const floor = Date.parse(since)
  const [oldest = uidNext] = await uidsSince(connection, floor)
  return { uidValidity, uid: oldest - 1, newest: floor, floor }
}

/** Takes what came lately and is not known by its key, then stands at the folder's end. */
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
  let { newest } = stored
  const keys: string[] = []
  for await (const [batch, results] of takeAll(connection, parts, uids, { floor, known, signal })) {
    newest = Math.max(newest, batch.newest)
    keys.push(...results.map(({ key }) => key))
  }
  const done = { ...stored, uid: Math.max(uidNext - 1, uids.at(-1) ?? 0), newest }
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
  const none: ReadonlySet<string> = new Set()
  for await (const [batch, results] of takeAll(connection, parts, uids, { floor: 0, known: none, signal })) {
    cursor = {
      ...cursor,
      uid: Math.max(cursor.uid, ...batch.uids),
      newest: Math.max(cursor.newest, batch.newest),
    }
    await parts.cursors.save(
      cursor,
      results.map(({ key }) => key),
    )
  }
  return cursor
}

type Taking = { floor: number; known: ReadonlySet<string>; signal: AbortSignal }

/**
 * Deals with mails batch by batch, in order of UID; the next batch is fetched while one is worked on. Yields a batch
 * when every mail of it is durable and moved away as configured. Rejects when `signal` aborts.
 */
async function* takeAll(
  connection: ImapConnection,
  parts: FolderParts,
  uids: number[],
  { floor, known, signal }: Taking,
): AsyncGenerator<[Batch, Ingested[]]> {
  const wanted = await parts.doubts.settle(connection, uids)
  for await (const batch of fetchAll(connection, wanted, floor, parts)) {
    // Ending early would look like the end of the list, and the cursor would pass mails that nobody took.
    signal.throwIfAborted()
    const results = await ingestAll(batch.incoming, parts.ingest, known, signal)
    await parts.putAway(connection, batch.incoming, results)
    parts.doubts.passed(batch.uids)
    parts.onProgress()
    yield [batch, results]
  }
}

async function ingestAll(
  incoming: Incoming[],
  ingest: Ingest,
  known: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Ingested[]> {
  const results: Ingested[] = new Array(incoming.length)
  const turns = takeTurns(incoming.length, signal)
  let next = 0
  const work = async () => {
    for (let at = next++; at < incoming.length; at = next++) {
      const each = incoming[at]
      const turn = turns[at]
      if (each && turn) results[at] = await ingest(each, { known, turn, signal })
    }
  }
  const workers = Array.from({ length: Math.min(CONCURRENCY, incoming.length) }, work)
  // All of them have ended when this does, so that nothing is accepted after a stop.
  const failed = (await Promise.allSettled(workers)).find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
  return results
}

function takeTurns(count: number, signal: AbortSignal): Turn[] {
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  aborted.catch(() => {})
  let last = Promise.resolve()
  return Array.from({ length: count }, () => {
    const before = last
    const passed = Promise.withResolvers<void>()
    last = before.then(() => passed.promise)
    return { wait: () => Promise.race([before, aborted]), pass: passed.resolve }
  })
}

/** imapflow answers false, and does not throw, where a search failed. */
function numbers(found: number[] | false | undefined): number[] {
  if (!found) throw new Error('the IMAP server refused to search the folder')
  return found.toSorted((a, b) => a - b)
}
