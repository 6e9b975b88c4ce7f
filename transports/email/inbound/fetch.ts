import { createHash } from 'node:crypto'
import type { ImapConnection } from '../imap-connection.ts'
import type { Incoming } from './ingest.ts'
import { parseMail } from './parse.ts'
import { hasTooManyLines } from './parse-big.ts'
import type { Spool } from './spool.ts'

/** What is known of a mail before it is fetched. */
export type Listed = { uid: number; size: number; internalDate: number }

/** Mails up to this size are fetched together and live in memory; larger ones go by way of the disk. */
const SMALL = 256 * 1024
/** One fetch brings at most this much. */
const BATCH_BYTES = 1024 * 1024
const BATCH_COUNT = 100

/** Sizes and dates of the mails with these UIDs, in order of UID. Mails that are gone are left out. */
export async function list(connection: ImapConnection, uids: readonly number[]): Promise<Listed[]> {
  const found = await connection.run((client) =>
    client.fetchAll(range(uids), { uid: true, size: true, internalDate: true }, { uid: true }),
  )
  return found
    .map(({ uid, size = 0, internalDate }) => ({ uid, size, internalDate: timeOf(internalDate) }))
    .sort((a, b) => a.uid - b.uid)
}

/** Cuts a list into batches, in order: many small mails, or one big one alone. */
export function batches(listed: readonly Listed[]): Listed[][] {
  const all: Listed[][] = []
  let bytes = 0
  for (const each of listed) {
    const last = all.at(-1)
    const fits = last && each.size <= SMALL && bytes + each.size <= BATCH_BYTES && last.length < BATCH_COUNT
    if (last && fits) last.push(each)
    else all.push([each])
    bytes = fits ? bytes + each.size : each.size
  }
  return all
}

/** Fetches one batch. Nothing on the server changes: the mails stay unseen. */
export async function fetchBatch(
  connection: ImapConnection,
  folder: string,
  batch: readonly Listed[],
  options: { maxSize: number; spool: Spool },
): Promise<Incoming[]> {
  const [first] = batch
  if (first && first.size > options.maxSize)
    return [await headersOf(connection, folder, first, options.maxSize)]
  if (first && first.size > SMALL) return [await options.spool.fetch(connection, folder, first)]
  const dates = new Map(batch.map((each) => [each.uid, each.internalDate]))
  const found = await connection.run((client) =>
    client.fetchAll(range([...dates.keys()]), { uid: true, source: true }, { uid: true }),
  )
  return found.flatMap(({ uid, source }) =>
    source
      ? [
          inMemory(
            folder,
            { uid, size: source.length, internalDate: dates.get(uid) ?? 0 },
            source,
            options.spool,
          ),
        ]
      : [],
  )
}

function inMemory(folder: string, listed: Listed, raw: Buffer, spool?: Spool): Incoming {
  return {
    folder,
    ...listed,
    parse: () => (spool && hasTooManyLines(raw) ? spool.parse(raw) : parseMail(raw)),
    open: () => raw,
    hash: async () => createHash('sha256').update(raw).digest('hex'),
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
