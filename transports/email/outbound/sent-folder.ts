import nodemailer, { type SendMailOptions } from 'nodemailer'
import type { ConnectImap } from '../mailbox/imap-connection.ts'
import type { EmailOptions } from '../options.ts'

/** The folder with what was sent. Each call uses a connection of its own: the reader's is busy waiting. */
export function createSentFolder({ folder, copy }: NonNullable<EmailOptions['sent']>, connect: ConnectImap) {
  return {
    /** Whether a mail with this Message-ID is there. */
    async has(messageId: string): Promise<boolean> {
      using connection = await connect()
      await connection.run((client) => client.mailboxOpen(folder, { readOnly: true }))
      const found = await connection.search({ header: { 'message-id': messageId } })
      return found.length > 0
    },
    /** Puts a copy there, where the server does not do so by itself. `compose` opens the files of the mail. */
    async keep(compose: () => Promise<SendMailOptions>): Promise<void> {
      if (copy === 'server') return
      const composer = nodemailer.createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
      const { message } = await composer.sendMail(await compose())
      if (!Buffer.isBuffer(message)) throw new Error('the copy of a mail could not be made')
      using connection = await connect()
      const append = () => connection.run((client) => client.append(folder, message, ['\\Seen']))
      if (await append().catch(() => false)) return
      // The folder may be missing. Where it is not, making it fails, and says nothing of why.
      await connection.run((client) => client.mailboxCreate(folder)).catch(() => {})
      if (!(await append())) throw new Error(`the IMAP server refused a copy for ${folder}`)
    },
  }
}
