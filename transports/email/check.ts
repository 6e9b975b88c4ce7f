import { randomUUID } from 'node:crypto'
import type { ImapFlow } from 'imapflow'
import { reasonOf } from '../../src/core/errors.ts'
import type { Check } from '../../src/core/transport.ts'
import { pause } from '../../src/lib/pause.ts'
import { remove } from './mailbox/after-options.ts'
import type { ConnectImap } from './mailbox/imap-connection.ts'
import { type EmailOptions, foldersOf } from './options.ts'
import type { Submission } from './outbound/submission.ts'
import { MICROSOFT } from './proof/trusted.ts'

/** Maximum wait for the mail to itself. */
const ARRIVAL_MS = 30_000
/** Interval of the searches for this mail. */
const POLL_MS = 500
/** The domain in the forged `Authentication-Results` of this mail. */
const FORGED = 'forged-by-doctor.invalid'
const MAX_FOLDERS = 20
const ADVICE = 'Check host, port, user and pass; many providers want an app password or OAuth2'

/**
 * For `trivium doctor`: tests both logins, IDLE, the folders, and a mail to itself. This mail does
 * not become a message, and is deleted.
 */
export async function checkMailbox(
  options: EmailOptions,
  connect: ConnectImap,
  smtp: Submission,
): Promise<Check[]> {
  const connecting = connect()
  const logins = await Promise.all([
    check('IMAP login', () => connecting.then(() => options.imap?.host ?? ''), ADVICE),
    checkSubmission(smtp),
  ])
  if (!logins[0]?.ok) return logins
  using connection = await connecting
  const { client } = connection
  const idle = client.capabilities.has('IDLE')
    ? 'new mail is announced immediately'
    : 'not offered; see sweep'
  const folders = new Set((await client.list()).map(({ path }) => path))
  const missing = foldersOf(options).filter((folder) => !folders.has(folder))
  const existing = [...folders].slice(0, MAX_FOLDERS).join(', ')
  return [
    ...logins,
    { name: 'IMAP IDLE', ok: true, detail: idle },
    ...missing.map((folder) => ({ name: `folder ${folder}`, ok: false, detail: `there are: ${existing}` })),
    ...checkSentFolder(options, folders),
    ...(logins[1]?.ok ? await tryMail(client, options, smtp) : []),
  ]
}

/**
 * A check for a missing folder of sent mail. It only fails if the server stores the copies;
 * otherwise, the first reply creates the folder.
 */
function checkSentFolder({ sent }: EmailOptions, folders: ReadonlySet<string>): Check[] {
  if (!sent || folders.has(sent.folder)) return []
  const name = `folder ${sent.folder}`
  if (sent.copy !== 'server') return [{ name, ok: true, detail: 'missing; the first reply creates it' }]
  return [{ name, ok: false, detail: `there are: ${[...folders].slice(0, MAX_FOLDERS).join(', ')}` }]
}

/** Checks the login for sending. */
export function checkSubmission({ name, verify, isApi }: Submission): Promise<Check> {
  const login = isApi ? 'API key' : 'SMTP login'
  return check(login, () => verify().then(() => name), isApi ? 'Check api' : ADVICE)
}

async function check(name: string, work: () => Promise<string>, advice?: string): Promise<Check> {
  try {
    return { name, ok: true, detail: await work() }
  } catch (error) {
    return { name, ok: false, detail: [reasonOf(error), ...(advice ? [advice] : [])].join('. ') }
  }
}

async function tryMail(client: ImapFlow, options: EmailOptions, smtp: Submission): Promise<Check[]> {
  let headers = ''
  const arrival = await check('mail to itself', async () => {
    const start = performance.now()
    headers = await roundTrip(client, options, smtp)
    return `arrived after ${Math.round(performance.now() - start)} ms`
  })
  const { trust } = options
  if (!arrival.ok || !trust || trust === MICROSOFT) return [arrival]
  // The server must remove forged results in its name. It may keep them in mail of its own users.
  const name = `trust ${trust}`
  if (!headers.includes(FORGED)) return [arrival, { name, ok: true, detail: 'forged results are removed' }]
  const detail =
    'forged results were not removed, which is normal for mail from your own login; send a mail with the header ' +
    `"Authentication-Results: ${trust}; dmarc=pass" from another provider, and remove trust if it arrives with that header`
  return [arrival, { name, ok: true, warning: true, detail }]
}

/** Sends a mail and waits for its arrival. Resolves with its headers after deleting it. */
async function roundTrip(client: ImapFlow, options: EmailOptions, smtp: Submission): Promise<string> {
  const { address, trust } = options
  const messageId = `<trivium-check.${randomUUID()}@${address.slice(address.lastIndexOf('@') + 1)}>`
  await client.mailboxOpen('INBOX')
  const start = performance.now()
  const subject = 'Trivium doctor: this mail can be deleted'
  const text = 'trivium doctor sends it to see that mail arrives.'
  const headers = {
    'Auto-Submitted': 'auto-generated',
    'X-Auto-Response-Suppress': 'All',
    ...(trust ? { 'Authentication-Results': `${trust}; dmarc=pass header.from=${FORGED}` } : {}),
  }
  await smtp.send({ messageId, from: address, to: address, subject, text, headers }, messageId)
  for (; performance.now() - start < ARRIVAL_MS; await pause(POLL_MS)) {
    const found = await client.search({ header: { 'message-id': messageId } }, { uid: true })
    if (!found || found.length === 0) continue
    const [mail] = await client.fetchAll(found.join(','), { headers: true }, { uid: true })
    await remove(client, found)
    return String(mail?.headers)
  }
  throw new Error(`was sent but did not arrive in INBOX within ${ARRIVAL_MS / 1000} s; check the spam filter`)
}
