import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import nodemailer, { type SendMailOptions } from 'nodemailer'

export type ApiMailbox = { name: string; address: string }

export type ApiFile = { name: string; type: string; base64: string }

/** A mail in the forms that APIs need: as fields, or raw. */
export type ReadyMail = {
  messageId: string
  from: ApiMailbox
  to: ApiMailbox[]
  cc: ApiMailbox[]
  bcc: ApiMailbox[]
  replyTo: ApiMailbox[]
  subject: string
  text: string
  html: string
  /** Headers for threading, and against automatic replies. */
  headers: Record<string, string>
  /** All recipient addresses. */
  recipients: string[]
  /** Reads the attachments. They can be read only once: call either this or `raw`. */
  files(): Promise<ApiFile[]>
  /** Writes the raw mail with its attachments. */
  raw(): Promise<Buffer>
}

/**
 * Converts a composed mail. If the API replaces the Message-ID, ours is added as a reference, so
 * that answers can be assigned.
 */
export function readyMail(mail: SendMailOptions, replacesMessageId: boolean): ReadyMail {
  const { messageId = '', subject = '', text, html, inReplyTo } = mail
  const references = [mail.references ?? []].flat().concat(replacesMessageId ? [messageId] : [])
  const recipients = recipientsOf(mail)
  const isRecipient = ({ address }: ApiMailbox) => recipients.includes(address)
  const to = mailboxes(mail.to).filter(isRecipient)
  const cc = mailboxes(mail.cc).filter(isRecipient)
  const visible = new Set([...to, ...cc].map(({ address }) => address))
  const [from = { name: '', address: '' }] = mailboxes(mail.from)
  return {
    messageId,
    from,
    to,
    cc,
    subject,
    bcc: recipients.filter((each) => !visible.has(each)).map((address) => ({ name: '', address })),
    replyTo: mailboxes(mail.replyTo),
    text: typeof text === 'string' ? text : '',
    html: typeof html === 'string' ? html : '',
    headers: {
      ...Object.fromEntries(Object.entries(mail.headers ?? {}).map(([name, value]) => [name, String(value)])),
      ...(inReplyTo ? { 'In-Reply-To': String(inReplyTo) } : {}),
      ...(references.length > 0 ? { References: references.join(' ') } : {}),
    },
    recipients,
    files: () => filesOf(mail),
    async raw() {
      const composer = nodemailer.createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
      const { message } = await composer.sendMail({ ...mail, references })
      if (!Buffer.isBuffer(message)) throw new Error('the mail could not be written')
      return message
    },
  }
}

/** Formats a mailbox as in a header: `"Name" <address>`. */
export function formatMailbox({ name, address }: ApiMailbox): string {
  return name === '' ? address : `"${name.replaceAll(/["\\]/g, '\\$&')}" <${address}>`
}

function recipientsOf({ envelope, to, cc }: SendMailOptions): string[] {
  const { to: recipients } = Object(envelope)
  const all = recipients === undefined ? [...mailboxes(to), ...mailboxes(cc)] : mailboxes(recipients)
  return all.map(({ address }) => address)
}

function mailboxes(value: unknown): ApiMailbox[] {
  return [value ?? []].flat().map((each) => {
    if (typeof each === 'string') return { name: '', address: each }
    const { name = '', address = '' } = Object(each)
    return { name: String(name), address: String(address) }
  })
}

async function filesOf({ attachments = [], icalEvent }: SendMailOptions): Promise<ApiFile[]> {
  const files = await Promise.all(
    attachments.map(async ({ filename, contentType, content }) => ({
      name: filename || 'file',
      type: contentType || 'application/octet-stream',
      base64: (content instanceof Readable
        ? await buffer(content)
        : Buffer.from(String(content ?? ''))
      ).toString('base64'),
    })),
  )
  const { method, filename, content } = Object(icalEvent)
  if (content === undefined) return files
  const type = `text/calendar; charset=utf-8; method=${method}`
  return [...files, { name: String(filename), type, base64: Buffer.from(String(content)).toString('base64') }]
}
