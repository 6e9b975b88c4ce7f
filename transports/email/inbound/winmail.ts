import { detectMimeType } from 'nodemailer/lib/mime-funcs'
import type { Mail } from './parse.ts'
import { bareContentId, oneLine, type Part, partName } from './part.ts'
import { htmlToText, plain } from './readable-text.ts'
import { readTnef, type Tnef } from './tnef.ts'

/** Of the bodies, as much is kept. */
const MAX_TEXT = 256 * 1024
/** Of a name or a content id; the library keeps headers short in the same way. */
const MAX_NAME = 1000
const TNEF_TYPE = /^application\/(vnd\.)?ms-tnef$/i
const UNKNOWN_TYPE = 'application/octet-stream'
const MIME_TYPE = /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/

/** True for what Outlook wraps rich text and its attachments in. */
export function isWinmail({ name, type }: Part): boolean {
  return TNEF_TYPE.test(type) || (type.toLowerCase() === UNKNOWN_TYPE && /^winmail\.dat$/i.test(name))
}

/**
 * Puts what is in each winmail.dat of a mail into its place: its attachments among those of the mail, its body where
 * the mail has none. A winmail.dat of which something could not be read stays there as well. `bytesOf` gives the
 * content of a part, and is asked for those of which `isWinmail` is true; undefined leaves that part alone.
 */
export function unpackWinmail(mail: Mail, bytesOf: (part: Part) => Uint8Array | undefined): Mail {
  let unpacked = mail
  for (const part of mail.parts.filter(isWinmail)) {
    const bytes = bytesOf(part)
    const tnef = bytes && readTnef(bytes)
    if (tnef) unpacked = withTnef(unpacked, part, tnef)
  }
  return unpacked
}

function withTnef(mail: Mail, winmail: Part, tnef: Tnef): Mail {
  const parts = partsOf(tnef)
  const hasBody = mail.text !== '' || mail.html !== undefined
  const isAll = tnef.whole && isMail(tnef) && !holdsMessages(tnef) && (hasBody || hasReadableBody(tnef))
  return {
    ...mail,
    ...(hasBody ? {} : bodyOf(tnef)),
    parts: mail.parts.flatMap((part) => {
      if (part !== winmail) return [part]
      return isAll ? parts : [...parts, winmail]
    }),
  }
}

/** Meetings, tasks and contacts say in properties of their own what no attachment holds. */
function isMail({ messageClass }: Tnef): boolean {
  return /^IPM\.(Microsoft Mail\.)?Note\b/i.test(messageClass)
}

/** The headers of a message within are not taken out. */
function holdsMessages({ attachments }: Tnef): boolean {
  return attachments.some(({ message }) => message !== undefined)
}

/** A body that is too long, or in RTF that cannot be read, is whole in the winmail.dat alone. */
function hasReadableBody({ text = '', html = '', hasUnreadRtf }: Tnef): boolean {
  const isEmpty = text === '' && html === ''
  return isEmpty ? !hasUnreadRtf : text.length <= MAX_TEXT && html.length <= MAX_TEXT
}

function bodyOf({ text = '', html = '' }: Tnef): Pick<Mail, 'text' | 'html'> {
  const written = text.trim() ? text.slice(0, MAX_TEXT) : htmlToText(html)
  return { text: plain(written), ...(html.trim() ? { html: html.slice(0, MAX_TEXT) } : {}) }
}

function partsOf(tnef: Tnef): Part[] {
  return flatten(tnef).map(({ name, type, ...rest }, index) => {
    const label = partName(name.slice(0, MAX_NAME), index)
    return { ...rest, name: label, type: type ?? detectMimeType(label) }
  })
}

type Unnamed = Omit<Part, 'type'> & { type?: string }

/** A message within a message is its text, and its attachments beside those of the message around it. */
function flatten({ attachments }: Tnef): Unnamed[] {
  return attachments.flatMap(({ name, type = '', contentId, inline, content, message }) => {
    if (message) return [...textPart(name, message), ...flatten(message)]
    return [
      {
        name,
        ...(MIME_TYPE.test(type) ? { type: type.toLowerCase() } : {}),
        ...(contentId ? { contentId: bareContentId(oneLine(contentId.slice(0, MAX_NAME))) } : {}),
        inline,
        content,
      },
    ]
  })
}

function textPart(name: string, { text, html }: Tnef): Unnamed[] {
  const [body, suffix, type] = html ? [html, 'html', 'text/html'] : [text, 'txt', 'text/plain']
  if (!body) return []
  return [{ name: `${name || 'message'}.${suffix}`, type, inline: false, content: Buffer.from(body) }]
}
