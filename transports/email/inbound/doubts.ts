import { reasonOf } from '../../../src/core/errors.ts'
import type { Log } from '../../../src/core/log.ts'
import type { ImapConnection } from '../imap-connection.ts'

/**
 * Finds the mail that cannot be fetched among those that are fetched together, so that it does not hold up the
 * others for ever. It lives as long as a folder is read, over many connections: many servers drop the connection
 * where they cannot read a mail.
 */
export type Doubts = {
  /** Called for each connection. UIDs mean nothing under another UIDVALIDITY, so all is forgotten where it changed. */
  open(uidValidity: string): void
  /** True while a fetch failed and nobody knows why; then nothing is fetched ahead, so that one failure is one. */
  any(): boolean
  /** Cuts UIDs into groups of at most `most` to fetch together; smaller ones where something failed. */
  groups(uids: readonly number[], most: number): number[][]
  /** Runs a fetch of these mails. Rejects with what it rejects with, and the UIDs. */
  fetching<T>(connection: ImapConnection, uids: readonly number[], fetch: () => Promise<T>): Promise<T>
  /** Called when these mails are dealt with. */
  passed(uids: readonly number[]): void
  /**
   * The UIDs without those that cannot be fetched. One is given up when it failed alone, several times, and still
   * fails where another mail of the folder was just fetched over the same connection: a server in trouble gives
   * neither. A line that breaks under much data gives small ones, so the other must be as long as what came of this
   * one before it broke off; without such a mail it is given up after hours only.
   */
  settle(connection: ImapConnection, uids: readonly number[]): Promise<number[]>
}

/**
 * Mails from one UID to another of which one is in doubt, and how many of them are tried together. `witnessed`:
 * another mail was just fetched; `proofs`: how often this one failed right after that. `received`: the most bytes that
 * came before it broke off; `since`: when one mail alone failed first (Unix ms).
 */
type Doubt = {
  from: number
  until: number
  limit: number
  times: number
  witnessed: boolean
  proofs: number
  received: number
  since: number
}

/** A mail is tried alone this often; with the pauses in between that takes a quarter of a minute at least. */
const ALONE = 5
/** And this often when another mail had just been fetched. */
const PROOFS = 2
/** So many of the nearest mails are asked in turn whether it is the server. */
const WITNESSES = 8
/** After this time any other mail will do (ms). */
const LONG = 6 * 3_600_000
/** What a server says around the content of a mail, in bytes at the most. */
const ENVELOPE = 4096
/** Trouble of this machine, not of the mail. */
const LOCAL = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE', 'EACCES', 'EPERM', 'ENOENT'])

export function createDoubts(parts: {
  folder: string
  log: Log
  /** Counts what was given up. */
  refused(reason: string): void
  now(): number
}): Doubts {
  const { folder, log, refused, now } = parts
  const givenUp = new Set<number>()
  let doubt: Doubt | undefined
  let numbering: string | undefined
  let asked = 0

  const failed = (uids: readonly number[], bytes: number) => {
    const from = uids[0] ?? 0
    const until = uids.at(-1) ?? from
    const again = doubt && from >= doubt.from && until <= doubt.until
    const none = { times: 1, witnessed: false, proofs: 0, received: bytes, since: now() }
    const fresh = { from, until, limit: uids.length, ...none }
    if (!doubt || !again) doubt = fresh
    else if (uids.length > 1) doubt = { ...fresh, limit: Math.ceil(uids.length / 2) }
    else if (doubt.from !== doubt.until) doubt = fresh
    else {
      const proofs = doubt.proofs + (doubt.witnessed ? 1 : 0)
      const { times, since } = doubt
      doubt = { ...fresh, times: times + 1, proofs, received: Math.max(doubt.received, bytes), since }
    }
  }

  const inDoubt = (uid: number) => doubt !== undefined && uid >= doubt.from && uid <= doubt.until

  return {
    open(uidValidity) {
      if (numbering !== undefined && numbering !== uidValidity) {
        givenUp.clear()
        doubt = undefined
      }
      numbering = uidValidity
    },

    any: () => doubt !== undefined,

    groups(uids, most) {
      const all: number[][] = []
      for (const uid of uids) {
        const last = all.at(-1)
        const room = Math.min(most, inDoubt(uid) ? (doubt?.limit ?? most) : most)
        const before = last?.at(-1)
        const fits = last && last.length < room && before !== undefined && inDoubt(before) === inDoubt(uid)
        if (fits) last.push(uid)
        else all.push([uid])
      }
      return all
    },

    async fetching({ client }, uids, fetch) {
      const before = client.stats().received
      try {
        return await fetch()
      } catch (error) {
        if (!isLocal(error)) failed(uids, client.stats().received - before)
        const which = uids.length === 1 ? `mail ${uids[0]}` : `the mails ${uids[0]} to ${uids.at(-1)}`
        throw new Error(`${which} of ${folder} cannot be fetched: ${reasonOf(error)}`, { cause: error })
      }
    },

    passed(uids) {
      if (doubt && (uids.at(-1) ?? 0) >= doubt.until) doubt = undefined
    },

    async settle(connection, uids) {
      const left = uids.filter((uid) => !givenUp.has(uid))
      if (!left.some(inDoubt)) doubt = undefined
      if (!doubt || doubt.from !== doubt.until || doubt.times < ALONE) return left
      const uid = doubt.from
      if (doubt.proofs < PROOFS) {
        const size = now() - doubt.since < LONG ? doubt.received : 0
        doubt.witnessed = await anotherCanBeFetched(connection, uid, { except: givenUp, size, turn: asked++ })
        return left
      }
      givenUp.add(uid)
      doubt = undefined
      refused('unfetchable')
      log.error(
        { folder, uid },
        'a mail cannot be fetched, and others can; it is left out and stays in its folder. Look at it with a mail client: a copy of it will be read',
      )
      return left.filter((each) => each !== uid)
    },
  }
}

function isLocal(error: unknown): boolean {
  return error instanceof Error && 'code' in error && LOCAL.has(String(error.code))
}

/** Fetches one of the mails nearest to this one, each time another. Rejects where the server drops the connection. */
async function anotherCanBeFetched(
  connection: ImapConnection,
  uid: number,
  { except, size, turn }: { except: ReadonlySet<number>; size: number; turn: number },
): Promise<boolean> {
  const query = size > ENVELOPE ? { larger: size } : { all: true }
  const found = (await connection.run((client) => client.search(query, { uid: true }))) || []
  const near = found
    .filter((each) => each !== uid && !except.has(each))
    .sort((a, b) => Math.abs(a - uid) - Math.abs(b - uid))
    .slice(0, WITNESSES)
  const witness = near[turn % near.length]
  if (witness === undefined) return false
  return connection.run(async (client) => {
    const { content } = await client.download(String(witness), undefined, { uid: true })
    if (!content) return false
    for await (const _ of content);
    return true
  })
}
