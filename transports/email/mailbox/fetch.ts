import { reasonOf } from '../../../src/core/errors.ts'
import type { Incoming } from '../inbound/ingest.ts'
import { parseMail } from '../inbound/parse.ts'
import type { ImapConnection } from './imap-connection.ts'

/**
 * The mails of a folder whose fetch failed, over all connections: many servers drop the connection where they cannot
 * read a mail. By UID: how often it failed alone; 0 where it failed only together with others.
 */
export type Failures = Map<number, number>

type FetchParts = {
  connection: ImapConnection
  folder: string
  maxSize: number
  failures: Failures
  isWanted(mail: Listed): boolean
}

/** A mail that failed alone this often is set aside. */
export const TRIES = 3

/** Mails that are asked for at once, and as much as one fetch of them brings. */
const COUNT = 200
const BYTES = 4 * 1024 * 1024

type Listed = { uid: number; size: number; internalDate: number }

/** Fetches mails in order of UID, some at a time, without those that are gone or not wanted. All of them stay unseen. */
export async function* fetchAll(uids: readonly number[], parts: FetchParts): AsyncGenerator<Incoming[]> {
  const { connection, folder, failures, maxSize } = parts
  for (const group of groupsOf(uids, failures)) {
    try {
      const listed = await list(connection, group)
      for (const batch of batchesOf(listed.filter(parts.isWanted), maxSize)) {
        const incoming = await fetchBatch(batch, parts)
        for (const { uid } of batch) failures.delete(uid)
        yield incoming
      }
    } catch (error) {
      for (const uid of group) failures.set(uid, (failures.get(uid) ?? 0) + (group.length === 1 ? 1 : 0))
      const which = group.length === 1 ? `mail ${group[0]}` : `the mails ${group[0]} to ${group.at(-1)}`
      throw new Error(`${which} of ${folder} cannot be fetched: ${reasonOf(error)}`, { cause: error })
    }
  }
}

/** Whatever failed before is fetched alone. */
function groupsOf(uids: readonly number[], failures: Failures): number[][] {
  const groups: number[][] = []
  for (const uid of uids) {
    const last = groups.at(-1)
    const isAlone = failures.has(uid) || failures.has(last?.[0] ?? 0)
    if (last && last.length < COUNT && !isAlone) last.push(uid)
    else groups.push([uid])
  }
  return groups
}

async function list({ run }: ImapConnection, uids: readonly number[]): Promise<Listed[]> {
  const query = { uid: true, internalDate: true, size: true }
  const found = await run((client) => client.fetchAll(uids.join(','), query, { uid: true }))
  const listed = found.flatMap(({ uid, internalDate = 0, size }) =>
    // Without a size it is not an answer: the server tells that somebody changed the flags of any mail.
    size === undefined ? [] : [{ uid, size, internalDate: +new Date(internalDate) || 0 }],
  )
  return listed.sort((a, b) => a.uid - b.uid)
}

/** Mails over the limit are by themselves: only their headers are fetched. */
function batchesOf(listed: readonly Listed[], maxSize: number): Listed[][] {
  const batches: Listed[][] = []
  let bytes = 0
  for (const each of listed) {
    const size = each.size > maxSize ? Number.POSITIVE_INFINITY : each.size
    const last = batches.at(-1)
    bytes += size
    if (last && bytes <= BYTES) last.push(each)
    else {
      batches.push([each])
      bytes = size
    }
  }
  return batches
}

async function fetchBatch(batch: readonly Listed[], { connection, folder, maxSize }: FetchParts) {
  const uids = batch.map(({ uid }) => uid)
  const isBig = batch.some(({ size }) => size > maxSize)
  const query = { uid: true, source: !isBig, headers: isBig }
  const found = await connection.run((client) => client.fetchAll(uids.join(','), query, { uid: true }))
  const contents = new Map<number, Buffer | undefined>()
  for (const { uid, source, headers } of found) contents.set(uid, contents.get(uid) ?? (source || headers))
  return batch.flatMap((listed): Incoming[] => {
    const raw = contents.get(listed.uid)
    // It is there, and the server says NIL for what is in it.
    if (!raw && contents.has(listed.uid))
      throw new Error(`the IMAP server has no content for mail ${listed.uid}`)
    if (!raw) return []
    const reason = `It has ${listed.size} bytes; max-size is ${maxSize}. Its content stays in ${folder}.`
    // A mail over the limit is told of by its headers. Its parts are not there, so its Content-Type must not be followed.
    const cut = isBig ? { text: '', parts: [], unreadable: reason } : {}
    const parse = async () => ({ ...(await parseMail(raw)), ...cut })
    return [{ ...listed, folder, raw, parse }]
  })
}
