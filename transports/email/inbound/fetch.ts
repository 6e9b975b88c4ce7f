import { hash } from 'node:crypto'
import type { ImapConnection } from '../imap-connection.ts'
import type { Doubts } from './doubts.ts'
import type { Incoming } from './ingest.ts'
import { parseMail } from './parse.ts'
import { hasTooManyLines } from './parse-big.ts'
import type { Spool } from './spool.ts'

/** Mails that were fetched together, in order of UID. */
export type Batch = { uids: number[]; newest: number; incoming: Incoming[] }

/** What fetching works with. */
export type FetchParts = { folder: string; maxSize: number; spool: Spool; doubts: Doubts }

/** What is known of a mail before it is fetched whole. */
export type Listed = { uid: number; size: number; internalDate: number }

/** As much of each mail is fetched at once; of most mails that is all, and one command brings many of them. */
const LOOK = 64 * 1024
const LOOK_COUNT = 100
/** Mails up to this size are fetched together and live in memory; larger ones go by way of the disk. */
const SMALL = 256 * 1024
/** One fetch of longer mails brings at most this much. */
const BATCH_BYTES = 1024 * 1024

/**
 * Fetches mails in order of UID, batch by batch; each next one is fetched while the last one is worked on, unless
 * something failed. At most two batches are in memory, of 6 MB each at the worst. Those before `floor` (Unix ms) and
 * those that are gone are left out. Nothing on the server changes: the mails stay unseen.
 */
export async function* fetchAll(
  connection: ImapConnection,
  uids: readonly number[],
  floor: number,
  parts: FetchParts,
): AsyncGenerator<Batch> {
  const { doubts } = parts
  const inOrder = doubts.any() ? oneByOne : lookAhead
  const about = <T>(mails: readonly number[], fetch: () => Promise<T>) =>
    doubts.fetching(connection, mails, fetch)
  const looks = doubts.groups(uids, LOOK_COUNT)
  const ahead = inOrder(looks.map((each) => () => about(each, () => look(connection, each, floor))))
  for await (const seen of ahead) {
    const listed = await about(uidsOf(seen), () => measured(connection, seen))
    const groups = batches(listed, parts.maxSize)
    yield* inOrder(groups.map((each) => () => about(uidsOf(each), () => complete(connection, each, parts))))
  }
}

function uidsOf(mails: readonly Listed[]): number[] {
  return mails.map(({ uid }) => uid)
}

async function* oneByOne<T>(tasks: readonly (() => Promise<T>)[]): AsyncGenerator<T> {
  for (const task of tasks) yield await task()
}

/** Runs tasks one after the other; each next one runs while what came of the last one is used. */
async function* lookAhead<T>(tasks: readonly (() => Promise<T>)[]): AsyncGenerator<T> {
  const start = (at: number) => {
    const running = tasks[at]?.()
    // Awaited one round later; until then a failure must not count as unhandled.
    running?.catch(() => {})
    return running
  }
  let next = start(0)
  for (let at = 1; next; at++) {
    const result: T = await next
    next = start(at)
    yield result
  }
}

/** `raw`: as much of it as was looked at. */
type Seen = Listed & { raw: Buffer }

async function look(connection: ImapConnection, uids: readonly number[], floor: number): Promise<Seen[]> {
  const query = { uid: true, internalDate: true, source: { start: 0, maxLength: LOOK } }
  const found = await connection.run((client) => client.fetchAll(range(uids), query, { uid: true }))
  return found
    .flatMap(({ uid, internalDate, source: raw }) =>
      raw ? [{ uid, internalDate: timeOf(internalDate), size: raw.length, raw }] : [],
    )
    .filter((each) => each.internalDate >= floor)
    .sort((a, b) => a.uid - b.uid)
}

/** Asks for the sizes of those that are longer than the look. */
async function measured(connection: ImapConnection, seen: readonly Seen[]): Promise<Seen[]> {
  const long = uidsOf(seen.filter(isCut))
  if (long.length === 0) return [...seen]
  const query = { uid: true, size: true }
  const found = await connection.run((client) => client.fetchAll(range(long), query, { uid: true }))
  const sizes = new Map(found.map(({ uid, size }) => [uid, size]))
  return seen.map((each) => ({ ...each, size: Math.max(each.size, sizes.get(each.uid) ?? 0) }))
}

function isCut({ raw }: Seen): boolean {
  return raw.length >= LOOK
}

/** Cuts what was seen into batches, in order: many small mails, or one big one alone. */
function batches(seen: readonly Seen[], maxSize: number): Seen[][] {
  const all: Seen[][] = []
  const alone = Math.min(SMALL, maxSize)
  let bytes = 0
  for (const each of seen) {
    // What is here whole already takes no more room.
    const more = isCut(each) ? each.size : 0
    const last = all.at(-1)
    const fits = last && each.size <= alone && (last[0]?.size ?? 0) <= alone && bytes + more <= BATCH_BYTES
    if (last && fits) last.push(each)
    else all.push([each])
    bytes = fits ? bytes + more : more
  }
  return all
}

/** Fetches what is missing of a batch. */
async function complete(
  connection: ImapConnection,
  batch: readonly Seen[],
  parts: FetchParts,
): Promise<Batch> {
  return {
    uids: uidsOf(batch),
    newest: Math.max(...batch.map(({ internalDate }) => internalDate)),
    incoming: await incomingOf(connection, batch, parts),
  }
}

async function incomingOf(
  connection: ImapConnection,
  batch: readonly Seen[],
  { folder, maxSize, spool }: FetchParts,
): Promise<Incoming[]> {
  const [first] = batch
  if (first && first.size > maxSize) return [await headersOf(connection, folder, first, maxSize)]
  if (first && first.size > SMALL) return [await spool.fetch(connection, folder, first)]
  const whole = await wholes(connection, uidsOf(batch.filter(isCut)))
  return batch.flatMap((each) => {
    const raw = isCut(each) ? whole.get(each.uid) : each.raw
    return raw ? [inMemory(folder, { ...each, size: raw.length }, raw, spool)] : []
  })
}

async function wholes(connection: ImapConnection, uids: readonly number[]): Promise<Map<number, Buffer>> {
  if (uids.length === 0) return new Map()
  const found = await connection.run((client) =>
    client.fetchAll(range(uids), { uid: true, source: true }, { uid: true }),
  )
  return new Map(found.flatMap(({ uid, source }) => (source ? [[uid, source] as const] : [])))
}

function inMemory(folder: string, { uid, size, internalDate }: Listed, raw: Buffer, spool?: Spool): Incoming {
  return {
    folder,
    uid,
    size,
    internalDate,
    parse: () => (spool && hasTooManyLines(raw) ? spool.parse(raw) : parseMail(raw)),
    open: () => raw,
    hash: async () => hash('sha256', raw),
  }
}

/** A mail over the limit is told of by its headers; its content stays where it is. */
async function headersOf(
  connection: ImapConnection,
  folder: string,
  listed: Listed,
  limit: number,
): Promise<Incoming> {
  const found = await connection.run((client) =>
    client.fetchOne(String(listed.uid), { uid: true, headers: true }, { uid: true }),
  )
  const raw = (found ? found.headers : undefined) ?? Buffer.alloc(0)
  return {
    ...inMemory(folder, listed, raw),
    // Its parts are not there, so its Content-Type must not be followed.
    parse: async () => ({
      ...(await parseMail(raw)),
      text: '',
      parts: [],
      unreadable: `It has ${listed.size} bytes; max-size is ${limit}. Its content stays in ${folder}.`,
    }),
  }
}

/** UIDs as IMAP wants them: `1:4,7`. */
export function range(uids: readonly number[]): string {
  const runs: [number, number][] = []
  for (const uid of uids) {
    const last = runs.at(-1)
    if (last && last[1] === uid - 1) last[1] = uid
    else runs.push([uid, uid])
  }
  return runs.map(([from, to]) => (from === to ? `${from}` : `${from}:${to}`)).join(',')
}

function timeOf(date: Date | string | undefined): number {
  const time = date === undefined ? Number.NaN : new Date(date).getTime()
  return Number.isNaN(time) ? 0 : time
}
