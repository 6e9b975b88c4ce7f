import type { ImapFlow } from 'imapflow'
import { reasonOf } from '../../../src/core/errors.ts'
import type { Log } from '../../../src/core/log.ts'
import type { Ingested } from '../inbound/incoming.ts'
import type { EmailOptions } from '../options.ts'
import type { Fetched } from './fetch.ts'
import type { ImapConnection } from './imap-connection.ts'

/**
 * Applies `after` and `quarantine` to processed mails of a folder: flags, moves or deletes them.
 * Creates missing folders. If the server refuses (quota, permissions), this is logged and the mails
 * stay, because they were already accepted. Mails that were not read completely are never deleted.
 * Rejects only if the connection is lost.
 */
export async function applyAfterOptions(
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
      log.error(
        { folder, reason: reasonOf(error) },
        'processed mails could not be changed; they stay in their folder',
      )
    }
  }

  const processed: number[] = []
  const refused: number[] = []
  for (const [at, { folder, uid }] of incoming.entries()) {
    const { outcome = 'own', unreadable: reason } = results[at] ?? {}
    if (outcome === 'refused') refused.push(uid)
    if (outcome !== 'accepted' && outcome !== 'bounce') continue
    if (reason === undefined || after !== 'delete') processed.push(uid)
    else log.warn({ folder, uid, reason }, 'a mail was not read completely; it is not deleted')
  }
  if (after === 'seen')
    await attempt(processed, (client, uids) =>
      requireSuccess(client.messageFlagsAdd(uids, ['\\Seen'], { uid: true }), 'flag'),
    )
  else if (after === 'delete') await attempt(processed, remove)
  else if (after !== 'keep') await attempt(processed, mover(after.move))
  if (quarantine) await attempt(refused, mover(quarantine))
}

/**
 * Deletes mails of the open folder. Without UIDPLUS (RFC 4315) it only marks them: EXPUNGE would
 * remove all marked mails.
 */
export async function remove(client: ImapFlow, uids: number[]): Promise<void> {
  if (supports(client, 'UIDPLUS')) return requireSuccess(client.messageDelete(uids, { uid: true }), 'delete')
  await requireSuccess(client.messageFlagsAdd(uids, ['\\Deleted'], { uid: true }), 'delete')
}

/** Creates the function that moves mails to a folder, and creates the folder if it is missing. */
function mover(folder: string) {
  return async (client: ImapFlow, uids: number[]): Promise<void> => {
    // Without both, the library would also expunge mails that the user has marked as deleted.
    const isSafe = supports(client, 'MOVE') || supports(client, 'UIDPLUS')
    if (!isSafe) throw new Error('the IMAP server offers neither MOVE nor UIDPLUS, so nothing can be moved')
    // The library joins the parts with the server's separator.
    const path = folder.split('/')
    if (await client.messageMove(uids, path, { uid: true })) return
    await client.mailboxCreate(path)
    await requireSuccess(client.messageMove(uids, path, { uid: true }), `move to ${folder}`)
  }
}

/** IMAP4rev2 (RFC 9051) includes both. */
function supports(client: ImapFlow, capability: 'MOVE' | 'UIDPLUS'): boolean {
  return client.capabilities.has(capability) || client.enabled.has('IMAP4REV2')
}

/** Throws if a command of imapflow resolves with false, which means that the server refused it. */
async function requireSuccess(command: Promise<unknown>, what: string): Promise<void> {
  if (!(await command)) throw new Error(`the IMAP server refused to ${what}`)
}
