import type { ImapFlow } from 'imapflow'
import { reasonOf } from '../../../src/core/errors.ts'
import type { Log } from '../../../src/core/log.ts'
import type { ImapConnection } from '../imap-connection.ts'
import type { AfterAccept } from '../options.ts'
import { range } from './fetch.ts'
import type { Incoming, Ingested } from './ingest.ts'

/** Does with mails of one folder what `after` and `quarantine` say, once they are dealt with. */
export type PutAway = (
  connection: ImapConnection,
  incoming: readonly Incoming[],
  results: readonly Ingested[],
) => Promise<void>

/**
 * A folder to move to that is missing is made. What the server refuses (a quota, a right) is logged, and the mail
 * stays where it is: it was accepted, and that counts. What was not taken whole is never deleted. Rejects only where
 * the connection is gone.
 */
export function createPutAway(parts: {
  folder: string
  after: AfterAccept
  quarantine: string | undefined
  log: Log
}): PutAway {
  const { folder, after, quarantine, log } = parts
  let toldOfMarks = false

  const attempt = async (connection: ImapConnection, work: (client: ImapFlow) => Promise<void>) => {
    try {
      await connection.run(work)
    } catch (error) {
      if (!connection.client.usable) throw error
      log.error({ folder, reason: reasonOf(error) }, 'mails could not be put away; they stay')
    }
  }

  const tellOfMarks = ({ client }: ImapConnection) => {
    const removes = after === 'delete' || (typeof after === 'object' && !supports(client, 'MOVE'))
    const moves = quarantine && !supports(client, 'MOVE')
    if (toldOfMarks || !(removes || moves) || supports(client, 'UIDPLUS')) return
    toldOfMarks = true
    log.warn(
      { folder },
      'the IMAP server has no UIDPLUS: mails are marked \\Deleted, and stay until the folder is expunged by its user',
    )
  }

  return async (connection, incoming, results) => {
    const done = uidsOf(incoming, results, ['accepted', 'known', 'bounce', 'receipt'])
    const partial = after === 'delete' ? partialUids(incoming, results) : new Map<number, string>()
    for (const [uid, reason] of partial) {
      log.warn(
        { folder, uid, reason },
        'a mail was not taken whole; it is not deleted and stays in its folder',
      )
    }
    const whole = done.filter((uid) => !partial.has(uid))
    const refused = quarantine ? uidsOf(incoming, results, ['refused']) : []
    if (whole.length > 0 || refused.length > 0) tellOfMarks(connection)
    if (whole.length > 0) await attempt(connection, (client) => apply(client, after, whole))
    if (refused.length > 0 && quarantine) {
      await attempt(connection, (client) => move(client, refused, quarantine))
    }
  }
}

function uidsOf(
  incoming: readonly Incoming[],
  results: readonly Ingested[],
  outcomes: Ingested['outcome'][],
): number[] {
  return incoming.filter((_, at) => outcomes.includes(results[at]?.outcome ?? 'own')).map((each) => each.uid)
}

/** Mails of which the message has only a part, each with the reason. */
function partialUids(incoming: readonly Incoming[], results: readonly Ingested[]): Map<number, string> {
  return new Map(
    incoming.flatMap(({ uid }, at) => {
      const reason = results[at]?.unreadable
      return reason === undefined ? [] : [[uid, reason] as const]
    }),
  )
}

async function apply(client: ImapFlow, after: AfterAccept, uids: number[]): Promise<void> {
  if (after === 'keep') return
  if (after === 'seen') return must(client.messageFlagsAdd(range(uids), ['\\Seen'], { uid: true }), 'flag')
  if (after === 'delete') return remove(client, uids)
  await move(client, uids, after.move)
}

/**
 * Deletes mails of the open folder. Without UIDPLUS (RFC 4315) they are only marked: EXPUNGE would take with them
 * whatever else the user has marked.
 */
export async function remove(client: ImapFlow, uids: number[]): Promise<void> {
  if (supports(client, 'UIDPLUS')) return must(client.messageDelete(range(uids), { uid: true }), 'delete')
  await must(client.messageFlagsAdd(range(uids), ['\\Deleted'], { uid: true }), 'delete')
}

async function move(client: ImapFlow, uids: number[], folder: string): Promise<void> {
  if (await moveTo(client, uids, folder)) return
  // The name may be written with the `/` that people know, on a server that separates with something else.
  const path = folder.replaceAll('/', client.namespace?.delimiter || '/')
  if (path !== folder && (await moveTo(client, uids, path))) return
  await client.mailboxCreate(path)
  await must(moveTo(client, uids, path), `move to ${path}`)
}

async function moveTo(client: ImapFlow, uids: number[], path: string): Promise<boolean> {
  if (supports(client, 'MOVE') || supports(client, 'UIDPLUS')) {
    return Boolean(await client.messageMove(range(uids), path, { uid: true }))
  }
  if (!(await client.messageCopy(range(uids), path, { uid: true }))) return false
  await remove(client, uids)
  return true
}

/** IMAP4rev2 (RFC 9051) includes both. */
function supports(client: ImapFlow, capability: 'MOVE' | 'UIDPLUS'): boolean {
  return client.capabilities.has(capability) || client.enabled.has('IMAP4REV2')
}

async function must(done: Promise<unknown>, what: string): Promise<void> {
  if (!(await done)) throw new Error(`the IMAP server refused to ${what}`)
}
