import { randomUUID } from 'node:crypto'
import { reasonOf } from '../../src/core/errors.ts'
import type { Check } from '../../src/core/transport.ts'
import { pause } from '../../src/lib/pause.ts'
import type { ConnectImap, ImapConnection } from './mailbox/imap-connection.ts'
import { remove } from './mailbox/put-away.ts'
import type { EmailOptions } from './options.ts'
import type { Smtp } from './outbound/smtp.ts'

const ARRIVAL = 30_000
const LOOK = 500

/**
 * For `trivium doctor`: logs in to both servers, looks for IDLE and the folders, sends a mail to the mailbox itself
 * and sees it arrive. The mail is deleted again; readers know it by its Message-ID and pass it by.
 */
export async function checkMailbox(
  options: EmailOptions,
  connect: ConnectImap,
  smtp: Smtp,
): Promise<Check[]> {
  let connection: ImapConnection
  try {
    connection = await connect()
  } catch (error) {
    const advice = `${reasonOf(error)}. Check imap.host, user and pass; many providers want an app password or OAuth2`
    return [{ name: 'IMAP login', ok: false, detail: advice }, await checkSmtp(options, smtp)]
  }
  try {
    const smtpCheck = await checkSmtp(options, smtp)
    return [
      { name: 'IMAP login', ok: true, detail: `${options.imap.user ?? ''} at ${options.imap.host}` },
      idleCheck(connection, options),
      ...(await folderChecks(connection, options)),
      smtpCheck,
      ...(smtpCheck.ok ? [await roundTrip(connection, options, smtp)] : []),
    ]
  } finally {
    await connection.end()
  }
}

async function checkSmtp({ smtp: { user = 'nobody', host } }: EmailOptions, smtp: Smtp): Promise<Check> {
  const name = 'SMTP login'
  try {
    await smtp.verify()
    return { name, ok: true, detail: `${user} at ${host}` }
  } catch (error) {
    return { name, ok: false, detail: `${reasonOf(error)}. Check smtp.host, port, user and pass` }
  }
}

function idleCheck({ client }: ImapConnection, options: EmailOptions): Check {
  const seconds = Math.round(Math.min(options.sweep, 30_000) / 1000)
  const has = client.capabilities.has('IDLE')
  const detail = has
    ? 'new mail is told of at once'
    : `not offered; new mail is looked for every ${seconds} s`
  return { name: 'IMAP IDLE', ok: true, detail }
}

async function folderChecks({ client }: ImapConnection, options: EmailOptions): Promise<Check[]> {
  const there = new Set((await client.list()).map(({ path }) => path))
  const wanted = [...options.folders, ...(options.sent ? [options.sent.folder] : [])]
  return wanted
    .filter((folder) => !there.has(folder))
    .map((folder) => ({
      name: `folder ${folder}`,
      ok: false,
      detail: `there is no such folder; there are: ${[...there].slice(0, 20).join(', ')}`,
    }))
}

async function roundTrip({ client }: ImapConnection, options: EmailOptions, smtp: Smtp): Promise<Check> {
  const name = 'mail to itself'
  const domain = options.address.slice(options.address.lastIndexOf('@') + 1)
  const messageId = `<trivium-check.${randomUUID()}@${domain}>`
  try {
    await client.mailboxOpen('INBOX')
    const start = performance.now()
    await smtp.send(
      {
        messageId,
        from: options.address,
        to: options.address,
        subject: 'Trivium doctor: this mail can be deleted',
        text: 'trivium doctor sends it to see that mail arrives.',
        headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
      },
      messageId,
    )
    while (performance.now() - start < ARRIVAL) {
      const found = await client.search({ header: { 'message-id': messageId } }, { uid: true })
      if (found && found.length > 0) {
        await remove(client, found)
        return { name, ok: true, detail: `arrived after ${Math.round(performance.now() - start)} ms` }
      }
      await pause(LOOK)
    }
    const detail = `was sent, and was not in INBOX after ${ARRIVAL / 1000} s; look at your spam filter`
    return { name, ok: false, detail }
  } catch (error) {
    return { name, ok: false, detail: reasonOf(error) }
  }
}
