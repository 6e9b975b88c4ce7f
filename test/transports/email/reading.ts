import { automaticReason } from '../../../transports/email/inbound/automatic.ts'
import { readBounce } from '../../../transports/email/inbound/bounce.ts'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import { newPart } from '../../../transports/email/inbound/reply-text.ts'
import { kindOfMail } from '../../../transports/email/inbound/subject.ts'

/** What is made of a mail, short enough to be compared by eye. */
export async function reading(raw: Uint8Array) {
  const mail = await parseMail(raw)
  return {
    subject: mail.subject ?? null,
    from: mail.from.map(({ name, address }) => `${name} <${address}>`.trim()),
    id: mail.messageId ?? null,
    text: newPart(mail.text, kindOfMail(mail)),
    parts: mail.parts.map(({ name, type, inline, content }) =>
      [name, type, ...(inline ? ['inline'] : []), content.length].join(' '),
    ),
    automatic: automaticReason(mail, new Set(['support@example.com'])) ?? null,
    bounce: readBounce(mail) ?? null,
    unreadable: mail.unreadable ?? null,
  }
}
