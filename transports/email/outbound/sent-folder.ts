import nodemailer, { type SendMailOptions } from 'nodemailer'
import type { ConnectImap } from '../mailbox/imap-connection.ts'
import type { EmailOptions } from '../options.ts'

export type SentFolder = ReturnType<typeof createSentFolder>

/**
 * The folder of sent mail. Each call opens a connection, because the reader's is busy with IDLE.
 */
export function createSentFolder({ folder, copy }: NonNullable<EmailOptions['sent']>, connect: ConnectImap) {
  return {
    /** Whether the folder has a mail with this Message-ID. */
    async has(messageId: string): Promise<boolean> {
      using connection = await connect()
      await connection.run((client) => client.mailboxOpen(folder, { readOnly: true }))
      return (await connection.search({ header: { 'message-id': messageId } })).length > 0
    },
    /** Stores a copy, unless the server does. `compose` opens the attachments again. */
    async storeCopy(compose: () => Promise<SendMailOptions>): Promise<void> {
      if (copy === 'server') return
      const composer = nodemailer.createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
      const { message } = await composer.sendMail(await compose())
      if (!Buffer.isBuffer(message)) throw new Error('the copy of a mail could not be made')
      using connection = await connect()
      const append = () => connection.run((client) => client.append(folder, message, ['\\Seen']))
      if (await append().catch(() => false)) return
      // The folder may be missing. If it exists, creating it fails without harm.
      await connection.run((client) => client.mailboxCreate(folder)).catch(() => {})
      if (!(await append())) throw new Error(`the IMAP server refused a copy for ${folder}`)
    },
  }
}
