import type { SendMailOptions } from 'nodemailer'
import nodemailer from 'nodemailer'
import type { ConnectImap, ImapConnection } from '../mailbox/imap-connection.ts'

/** The folder with what was sent. Each call uses a connection of its own: the reader's is busy waiting. */
export function createSentFolder(
  { folder, copy }: { folder: string; copy: 'append' | 'server' },
  connect: ConnectImap,
) {
  const connected = async <T>(work: (run: ImapConnection['run']) => Promise<T>) => {
    const { run, end } = await connect()
    try {
      return await work(run)
    } finally {
      end()
    }
  }
  return {
    /** Whether a mail with this Message-ID is there. */
    has: (messageId: string) =>
      connected(async (run) => {
        await run((client) => client.mailboxOpen(folder, { readOnly: true }))
        const query = { header: { 'message-id': messageId } }
        const found = await run((client) => client.search(query, { uid: true }))
        if (!found) throw new Error(`the IMAP server refused to search ${folder}`)
        return found.length > 0
      }),
    /** Puts a copy there, where the server does not do so by itself. `compose` opens the files of the mail. */
    async keep(compose: () => Promise<SendMailOptions>): Promise<void> {
      if (copy === 'server') return
      const composer = nodemailer.createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
      const { message } = await composer.sendMail(await compose())
      if (!Buffer.isBuffer(message)) throw new Error('the copy of a mail could not be made')
      await connected(async (run) => {
        const append = () => run((client) => client.append(folder, message, ['\\Seen']))
        if (await append().catch(() => false)) return
        // The folder may be missing. Where it is not, making it fails, and says nothing of why.
        await run((client) => client.mailboxCreate(folder)).catch(() => {})
        if (!(await append())) throw new Error(`the IMAP server refused a copy for ${folder}`)
      })
    },
  }
}
