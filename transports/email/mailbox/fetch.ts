import { setImmediate as turn } from 'node:timers/promises'
import { reasonOf } from '../../../src/core/errors.ts'
import type { Incoming } from '../inbound/incoming.ts'
import { parseMail } from '../inbound/parse.ts'
import type { ImapConnection } from './imap-connection.ts'

/**
 * The mails of a folder whose fetch failed, over all connections: many servers drop the connection where they cannot
 * read a mail. By UID: how often it failed alone; 0 where it failed only together with others.
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
  /** The next mails may be asked for while the last are worked on: nobody else waits for the connection then. */
  readAhead: boolean
}

/** A mail that failed alone this often is set aside. */
export const TRIES = 3

/** Mails that are asked for at once, and as much of each as comes with the first answer: most are whole by that. */
const COUNT = 200
const START = 16 * 1024
/** As much as one fetch of the others brings. */
const BYTES = COUNT * START

/** `raw`: all of it, where it came with the list. */
type Listed = { uid: number; size: number; internalDate: number; raw: Buffer | undefined }

/** Fetches mails in order of UID, some at a time, without those that are gone or not wanted. All of them stay unseen. */
export async function* fetchAll(uids: readonly number[], parts: FetchParts): AsyncGenerator<Fetched[]> {
  const { folder, failures, maxSize, readAhead } = parts
  // Whatever failed before is fetched alone, and so is each mail over the limit: only its headers are.
  const groups = runsOf(
    uids,
    (run, uid) => run.length < COUNT && ![uid, ...run.slice(0, 1)].some((each) => failures.has(each)),
  )
  const bytesOf = ({ raw, size }: Listed) => (raw ? 0 : size > maxSize ? Number.POSITIVE_INFINITY : size)
  let coming: Promise<Listed[]> | undefined
  for (const [at, group] of groups.entries()) {
    try {
      const listed = await (coming ?? list(group, parts))
      const batches = runsOf(
        listed.filter(parts.isWanted),
        (run, next) => [...run, next].reduce((sum, each) => sum + bytesOf(each), 0) <= BYTES,
      )
      coming = undefined
      for (const batch of batches) {
        await fetchRest(batch, parts)
        for (const { uid } of batch) failures.delete(uid)
        const next = batch === batches.at(-1) && readAhead ? groups[at + 1] : undefined
        coming = next && list(next, parts)
        // It is told of when its turn comes, if it does.
        coming?.catch(() => {})
        yield await takeApart(batch, parts)
      }
    } catch (error) {
      for (const uid of group) failures.set(uid, (failures.get(uid) ?? 0) + (group.length === 1 ? 1 : 0))
      const which = group.length === 1 ? `mail ${group[0]}` : `the mails ${group[0]} to ${group.at(-1)}`
      throw new Error(`${which} of ${folder} cannot be fetched: ${reasonOf(error)}`, { cause: error })
    }
  }
}

/** Cut into runs, each as long as the next one `fits`. */
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
  const query = { uid: true, internalDate: true, size: true, source: { start: 0, maxLength: START } }
  const found = await connection.run((client) => client.fetchAll(uids.join(','), query, { uid: true }))
  const listed = found.flatMap(({ uid, internalDate = 0, size, source }) => {
    // Without a size it is not an answer: the server tells that somebody changed the flags of any mail.
    if (size === undefined) return []
    const raw = source && source.length < START && size <= maxSize ? source : undefined
    return [{ uid, size, internalDate: +new Date(internalDate) || 0, raw }]
  })
  return listed.sort((a, b) => a.uid - b.uid)
}

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
    // It is there, and the server says NIL for what is in it.
    if (!each.raw && answers.length > 0)
      throw new Error(`the IMAP server has no content for mail ${each.uid}`)
  }
}

/** One by one, with a turn for others after each. */
async function takeApart(batch: readonly Listed[], { folder, maxSize }: FetchParts): Promise<Fetched[]> {
  const incoming: Fetched[] = []
  for (const { raw, ...listed } of batch) {
    if (!raw) continue
    const reason = `It has ${listed.size} bytes; max-size is ${maxSize}. Its content stays in ${folder}.`
    // A mail over the limit is told of by its headers. Its parts are not there, so its Content-Type must not be followed.
    const cut = listed.size > maxSize ? { text: '', parts: [], unreadable: reason } : {}
    incoming.push({ ...listed, folder, raw, mail: { ...(await parseMail(raw)), ...cut } })
    await turn()
  }
  return incoming
}
