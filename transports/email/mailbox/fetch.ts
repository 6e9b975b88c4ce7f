import { setImmediate as nextTurn } from 'node:timers/promises'
import { reasonOf } from '../../../src/core/errors.ts'
import type { Incoming } from '../inbound/incoming.ts'
import { parseMail } from '../inbound/parse.ts'
import type { ImapConnection } from './imap-connection.ts'

/**
 * By UID, how often the fetch of a mail failed on its own; 0 if it only failed together with
 * others. Kept over connections, because many servers drop the connection at an unreadable mail.
 */
export type Failures = Map<number, number>

/** A mail of a folder. */
export type Fetched = Incoming & { folder: string; uid: number }

type FetchParts = {
  connection: ImapConnection
  folder: string
  maxSize: number
  failures: Failures
  isWanted(mail: Listed): boolean
  /** Whether to request the next mails while the last ones are processed. */
  readAhead: boolean
}

/** Number of failures on its own after which a mail is set aside. */
export const MAX_FAILURES = 3

/** Number of mails per list request. */
const LIST_SIZE = 200
/** Bytes of each mail that a list request returns: enough for most mails. */
const FIRST_BYTES = 16 * 1024
/** Maximum bytes per fetch of larger mails. */
const BATCH_BYTES = LIST_SIZE * FIRST_BYTES

/** `raw`: the whole mail, if it came with the list. */
type Listed = { uid: number; size: number; internalDate: number; raw: Buffer | undefined }

/**
 * Fetches mails in order of UID, in batches, without missing and unwanted ones. Leaves them unseen.
 */
export async function* fetchAll(uids: readonly number[], parts: FetchParts): AsyncGenerator<Fetched[]> {
  const { folder, failures, maxSize, readAhead } = parts
  // A mail that failed before gets a group of its own.
  const groups = runsOf(uids, (run, uid) => {
    const isAnyFailed = failures.has(uid) || failures.has(run[0] ?? uid)
    return run.length < LIST_SIZE && !isAnyFailed
  })
  let nextList: Promise<Listed[]> | undefined
  for (const [at, group] of groups.entries()) {
    try {
      const listed = await (nextList ?? list(group, parts))
      const batches = runsOf(
        listed.filter(parts.isWanted),
        (run, mail) => bytesToFetch([...run, mail], maxSize) <= BATCH_BYTES,
      )
      nextList = undefined
      for (const batch of batches) {
        await fetchRest(batch, parts)
        for (const { uid } of batch) failures.delete(uid)
        const next = batch === batches.at(-1) && readAhead ? groups[at + 1] : undefined
        nextList = next && list(next, parts)
        // An error is reported when the list is awaited.
        nextList?.catch(() => {})
        yield await parseBatch(batch, parts)
      }
    } catch (error) {
      for (const uid of group) failures.set(uid, (failures.get(uid) ?? 0) + (group.length === 1 ? 1 : 0))
      const which = group.length === 1 ? `mail ${group[0]}` : `the mails ${group[0]} to ${group.at(-1)}`
      throw new Error(`${which} of ${folder} cannot be fetched: ${reasonOf(error)}`, { cause: error })
    }
  }
}

/**
 * The bytes of mails that did not come with the list. A mail over the limit counts as infinite, so
 * that it gets a batch of its own.
 */
function bytesToFetch(mails: readonly Listed[], maxSize: number): number {
  const missing = mails.filter(({ raw }) => !raw)
  return missing.reduce((sum, { size }) => sum + (size > maxSize ? Number.POSITIVE_INFINITY : size), 0)
}

/** Splits a list into runs, which continue while the next item `fits`. */
function runsOf<T>(all: readonly T[], fits: (run: readonly T[], next: T) => boolean): T[][] {
  const runs: T[][] = []
  for (const each of all) {
    const last = runs.at(-1)
    if (last && fits(last, each)) last.push(each)
    else runs.push([each])
  }
  return runs
}

async function list(uids: readonly number[], { connection, maxSize }: FetchParts): Promise<Listed[]> {
  const query = { uid: true, internalDate: true, size: true, source: { start: 0, maxLength: FIRST_BYTES } }
  const found = await connection.run((client) => client.fetchAll(uids.join(','), query, { uid: true }))
  const listed = found.flatMap(({ uid, internalDate = 0, size, source }) => {
    // Responses without a size are unsolicited flag updates.
    if (size === undefined) return []
    const isWhole = source && source.length < FIRST_BYTES && size <= maxSize
    const arrivedAt = new Date(internalDate).getTime()
    return [{ uid, size, internalDate: arrivedAt || 0, raw: isWhole ? source : undefined }]
  })
  return listed.sort((a, b) => a.uid - b.uid)
}

/** Fetches the mails that did not come with the list, and fills in their `raw`. */
async function fetchRest(batch: readonly Listed[], { connection, maxSize }: FetchParts): Promise<void> {
  const rest = batch.filter(({ raw }) => !raw)
  if (rest.length === 0) return
  const isBig = rest.some(({ size }) => size > maxSize)
  const query = { uid: true, source: !isBig, headers: isBig }
  const uids = rest.map(({ uid }) => uid).join(',')
  const found = await connection.run((client) => client.fetchAll(uids, query, { uid: true }))
  for (const each of rest) {
    const answers = found.filter(({ uid }) => uid === each.uid)
    each.raw = answers.map(({ source, headers }) => source || headers).find(Boolean)
    // The mail exists, but the server returns NIL for its content.
    if (!each.raw && answers.length > 0)
      throw new Error(`the IMAP server has no content for mail ${each.uid}`)
  }
}

/** Parses one by one, and lets other work run after each. */
async function parseBatch(batch: readonly Listed[], { folder, maxSize }: FetchParts): Promise<Fetched[]> {
  const incoming: Fetched[] = []
  for (const { raw, ...listed } of batch) {
    if (!raw) continue
    const reason = `It has ${listed.size} bytes; max-size is ${maxSize}. Its content stays in ${folder}.`
    // Of a mail over the limit, only the headers are here. They would be parsed as an empty mail.
    const cut = listed.size > maxSize ? { text: '', parts: [], unreadable: reason } : {}
    incoming.push({ ...listed, folder, raw, mail: { ...(await parseMail(raw)), ...cut } })
    await nextTurn()
  }
  return incoming
}
