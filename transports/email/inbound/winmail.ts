import { detectMimeType } from 'nodemailer/lib/mime-funcs'
import { defined } from '../../../src/lib/defined.ts'
import { bareContentId, oneLine, type Part, partName } from './part.ts'
import { ID, readTnef, type Tnef, TYPE, type Values } from './tnef.ts'

/** What a winmail.dat holds. Nothing in it is trusted. */
export type Winmail = {
  text: string
  html: string
  /** Its only body is in RTF, which is not read. */
  isRtf: boolean
  parts: Part[]
  /** False where something in it could not be read, or is in none of these: then it must be kept. */
  whole: boolean
}

const TNEF_TYPE = /^application\/(vnd\.)?ms-tnef$/i
const UNKNOWN_TYPE = 'application/octet-stream'
const MIME_TYPE = /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/
/** Meetings, tasks and contacts say in properties of their own what no attachment holds. */
const MAIL_CLASS = /^(IPM\.(Microsoft Mail\.)?Note\b|$)/i
const MAX_PARTS = 1000
const MAX_NAME = 1000
/** Messages within messages. */
const MAX_DEPTH = 8
/** An embedded object begins with the id of its interface. */
const INTERFACE_ID = 16
/** The flag of an image that the HTML body shows ([MS-OXCMSG], section 2.2.2.18). */
const RENDERED_IN_BODY = 4

/** True for what Outlook wraps rich text and its attachments in. */
export function isWinmail({ name, type }: Part): boolean {
  return TNEF_TYPE.test(type) || (type.toLowerCase() === UNKNOWN_TYPE && /^winmail\.dat$/i.test(name))
}

/** Reads what is in a winmail.dat. Undefined for anything else. Never throws. */
export function readWinmail(bytes: Uint8Array, depth = 0): Winmail | undefined {
  const tnef = readTnef(bytes)
  if (!tnef) return undefined
  const { message, attachments } = tnef
  const text = tnef.text(message, ID.body, ID.bodyText)
  const html = tnef.text(message, ID.html)
  const messageClass = tnef.text(message, ID.messageClass, ID.class)
  const read = attachments.map((values) => partsOf(tnef, values, depth))
  const parts = read.flatMap((each) => each.parts)
  return {
    text,
    html,
    isRtf: !text && !html && message.has(ID.rtf),
    parts: parts.slice(0, MAX_PARTS).map((part, index) => ({ ...part, name: partName(part.name, index) })),
    whole:
      tnef.whole &&
      MAIL_CLASS.test(messageClass) &&
      parts.length <= MAX_PARTS &&
      read.every(({ whole }) => whole),
  }
}

/** Nothing for a link to a file elsewhere. For a message its text and its attachments, without its headers. */
function partsOf(tnef: Tnef, values: Values, depth: number): Pick<Winmail, 'parts' | 'whole'> {
  const text = (...ids: number[]) => oneLine(tnef.text(values, ...ids).slice(0, MAX_NAME))
  const name =
    text(ID.attachLongFilename, ID.attachTransportFilename, ID.attachTitle) ||
    text(ID.attachFilename, ID.displayName)
  const { type, bytes } = values.get(ID.attachData) ?? values.get(ID.attachContent) ?? {}
  if (!bytes) return { parts: [], whole: false }
  const content = type === TYPE.object ? bytes.subarray(INTERFACE_ID) : bytes
  const inner = depth < MAX_DEPTH ? readWinmail(content, depth + 1) : undefined
  if (inner) return { parts: [...bodyOf(inner, name), ...inner.parts], whole: false }
  const mimeType = text(ID.attachMimeTag)
  const contentId = bareContentId(text(ID.attachContentId))
  const flags = values.get(ID.attachFlags)?.bytes[0] ?? 0
  const isHidden = Boolean(flags & RENDERED_IN_BODY) || values.get(ID.attachmentHidden)?.bytes[0] === 1
  const part = {
    name,
    type: MIME_TYPE.test(mimeType) ? mimeType.toLowerCase() : detectMimeType(name),
    ...defined({ contentId: contentId || undefined }),
    inline: contentId !== '' && isHidden,
    content,
  }
  return { parts: [part], whole: true }
}

function bodyOf({ text, html }: Winmail, name: string): Part[] {
  const [body, suffix, type] = html ? [html, 'html', 'text/html'] : [text, 'txt', 'text/plain']
  if (!body) return []
  return [{ name: `${name || 'message'}.${suffix}`, type, inline: false, content: Buffer.from(body) }]
}
