import type { ImapFlow } from 'imapflow'
import { reasonOf } from '../../../src/core/errors.ts'
import type { Log } from '../../../src/core/log.ts'
import type { ImapConnection } from '../imap-connection.ts'
import type { AfterAccept } from '../options.ts'
import { range } from './fetch.ts'
import type { Incoming, Ingested } from './ingest.ts'

/**
 * Does with mails what the gateway's `after` and `quarantine` say, once they are dealt with. A folder that is
 * missing is made. What the server refuses (a quota, a right) is logged, and the mail stays where it is: it was
 * accepted, and that counts. Rejects only where the connection is gone.
 */
export async function afterwards(
  connection: ImapConnection,
  parts: { folder: string; after: AfterAccept; quarantine: string | undefined; log: Log },
  incoming: readonly Incoming[],
  results: readonly Ingested[],
): Promise<void> {
  const uids = (...outcomes: Ingested['outcome'][]) =>
    incoming.filter((_, at) => outcomes.includes(results[at]?.outcome ?? 'own')).map((each) => each.uid)
  const done = uids('accepted', 'known', 'bounce')
  const refused = uids('refused')
  try {
    if (done.length > 0) await connection.run((client) => apply(client, parts.after, done))
    const { quarantine } = parts
    if (refused.length > 0 && quarantine) await connection.run((client) => move(client, refused, quarantine))
  } catch (error) {
    if (!connection.client.usable) throw error
    parts.log.error(
      { folder: parts.folder, reason: reasonOf(error) },
      'mails could not be put away; they stay',
    )
  }
}

async function apply(client: ImapFlow, after: AfterAccept, uids: number[]): Promise<void> {
  if (after === 'keep') return
  if (after === 'seen') return must(client.messageFlagsAdd(range(uids), ['\\Seen'], { uid: true }), 'flag')
  if (after === 'delete') return must(client.messageDelete(range(uids), { uid: true }), 'delete')
  await move(client, uids, after.move)
}

async function move(client: ImapFlow, uids: number[], folder: string): Promise<void> {
  const moved = await client.messageMove(range(uids), folder, { uid: true })
  if (moved) return
  await client.mailboxCreate(folder)
  await must(client.messageMove(range(uids), folder, { uid: true }), `move to ${folder}`)
}

async function must(done: Promise<unknown>, what: string): Promise<void> {
  if (!(await done)) throw new Error(`the IMAP server refused to ${what}`)
}
