import type { SendMailOptions } from 'nodemailer'
import nodemailer from 'nodemailer'
import type { ConnectImap } from '../imap-connection.ts'

/** The folder with what was sent. Each call uses a connection of its own: the reader's is busy waiting. */
export type SentFolder = {
  /** Whether a mail with this Message-ID is there. */
  has(messageId: string): Promise<boolean>
  /** Puts a copy there, where the server does not do so by itself. */
  keep(mail: SendMailOptions): Promise<void>
}

export function createSentFolder(
  options: { folder: string; copy: 'append' | 'server' },
  connect: ConnectImap,
): SentFolder {
  return {
    async has(messageId) {
      const { run, end } = await connect()
      try {
        const found = await run(async (client) => {
          await client.mailboxOpen(options.folder, { readOnly: true })
          return client.search({ header: { 'message-id': messageId } }, { uid: true })
        })
        if (!found) throw new Error(`the IMAP server refused to search ${options.folder}`)
        return found.length > 0
      } finally {
        await end()
      }
    },
    async keep(mail) {
      if (options.copy === 'server') return
      const raw = await bytesOf(mail)
      const { run, end } = await connect()
      try {
        const append = () => run((client) => client.append(options.folder, raw, ['\\Seen']))
        // The folder may be missing; making one that is there does no harm.
        const kept = await append().catch(() => false)
        if (kept) return
        await run((client) => client.mailboxCreate(options.folder))
        if (!(await append())) throw new Error(`the IMAP server refused a copy for ${options.folder}`)
      } finally {
        await end()
      }
    },
  }
}

async function bytesOf(mail: SendMailOptions): Promise<Buffer> {
  const { message } = await nodemailer.createTransport({ streamTransport: true, buffer: true }).sendMail(mail)
  if (!Buffer.isBuffer(message)) throw new Error('the copy of a mail could not be made')
  return message
}
