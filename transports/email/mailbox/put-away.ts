import type { ImapFlow } from 'imapflow'
import { reasonOf } from '../../../src/core/errors.ts'
import type { Log } from '../../../src/core/log.ts'
import type { Ingested } from '../inbound/incoming.ts'
import type { EmailOptions } from '../options.ts'
import type { Fetched } from './fetch.ts'
import type { ImapConnection } from './imap-connection.ts'

/**
 * Applies `after` and `quarantine` to processed mails of a folder. Creates missing folders. Refusals by the server (quota, permissions) are
 * logged, and the mail stays in place, as it was already accepted. Mails that were not read completely are never deleted.
 * Rejects only if the connection is lost.
 */
export async function putAway(
  { client, run }: ImapConnection,
  incoming: readonly Fetched[],
  results: readonly Ingested[],
  { after, quarantine, log }: Pick<EmailOptions, 'after' | 'quarantine'> & { log: Log },
): Promise<void> {
  const attempt = async (uids: number[], work: (client: ImapFlow, uids: number[]) => Promise<void>) => {
    if (uids.length === 0) return
    try {
      await run((client) => work(client, uids))
    } catch (error) {
      if (!client.usable) throw error
      const { folder } = incoming[0] ?? {}
      log.error({ folder, reason: reasonOf(error) }, 'mails could not be put away; they stay')
    }
  }

  const done: number[] = []
  const refused: number[] = []
  for (const [at, { folder, uid }] of incoming.entries()) {
    const { outcome = 'own', unreadable: reason } = results[at] ?? {}
    if (outcome === 'refused') refused.push(uid)
    if (outcome !== 'accepted' && outcome !== 'bounce') continue
    if (reason === undefined || after !== 'delete') done.push(uid)
    else log.warn({ folder, uid, reason }, 'a mail was not taken whole; it is not deleted')
  }
  if (after === 'seen')
    await attempt(done, (client, uids) =>
      must(client.messageFlagsAdd(uids, ['\\Seen'], { uid: true }), 'flag'),
    )
  else if (after === 'delete') await attempt(done, remove)
  else if (after !== 'keep') await attempt(done, mover(after.move))
  if (quarantine) await attempt(refused, mover(quarantine))
}

/** Deletes mails of the open folder. Without UIDPLUS (RFC 4315) it only marks them, as EXPUNGE would remove all marked mails. */
export async function remove(client: ImapFlow, uids: number[]): Promise<void> {
  if (supports(client, 'UIDPLUS')) return must(client.messageDelete(uids, { uid: true }), 'delete')
  await must(client.messageFlagsAdd(uids, ['\\Deleted'], { uid: true }), 'delete')
}

function mover(folder: string) {
  return async (client: ImapFlow, uids: number[]): Promise<void> => {
    // Without these, the library would also expunge mails marked by the user.
    const isSafe = supports(client, 'MOVE') || supports(client, 'UIDPLUS')
    if (!isSafe) throw new Error('the IMAP server offers neither MOVE nor UIDPLUS, so nothing can be moved')
    // The library joins the parts with the server's separator.
    const path = folder.split('/')
    if (await client.messageMove(uids, path, { uid: true })) return
    await client.mailboxCreate(path)
    await must(client.messageMove(uids, path, { uid: true }), `move to ${folder}`)
  }
}

/** IMAP4rev2 (RFC 9051) includes both. */
function supports(client: ImapFlow, capability: 'MOVE' | 'UIDPLUS'): boolean {
  return client.capabilities.has(capability) || client.enabled.has('IMAP4REV2')
}

async function must(done: Promise<unknown>, what: string): Promise<void> {
  if (!(await done)) throw new Error(`the IMAP server refused to ${what}`)
}
