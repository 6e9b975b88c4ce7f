import { marksIn } from '../own-id.ts'
import { hasNullReturnPath } from './automatic.ts'
import { header, type Mail } from './parse.ts'

/** A report that mail of ours was not delivered, or not yet (RFC 3464), or what stands for one. */
export type Bounce = {
  /** The sends it is about; none where it does not say. */
  marks: string[]
  action: 'failed' | 'delayed' | 'delivered'
  /** `5.1.1`, where it is given. */
  status?: string
  recipient?: string
  diagnostic?: string
}

const MAX_SCAN = 262_144

/**
 * Recognises a delivery status notification, and bounces of servers that write none: mail with a null return path,
 * or from the mailer daemon, that quotes a Message-ID of ours. Undefined for any other mail.
 */
export function readBounce(mail: Mail): Bounce | undefined {
  const status = mail.parts.find((part) => /^message\/(global-)?delivery-status$/.test(part.type))
  const type = header(mail, 'content-type') ?? ''
  const isReport = /^\s*multipart\/report\b/i.test(type) && /report-type="?delivery-status/i.test(type)
  const fromDaemon = /^(mailer-daemon|postmaster)@/.test(mail.from[0]?.address ?? '')
  const suspect = (hasNullReturnPath(mail) || fromDaemon) && !isOutOfOffice(mail)
  if (!status && !isReport && !suspect) return undefined
  const marks = marksIn(everything(mail))
  if (!status && !isReport && !fromDaemon && marks.length === 0) return undefined

  const fields = status ? decode(status.content) : ''
  const field = (name: string) => new RegExp(`^${name}:[ \\t]*(.{1,500})$`, 'im').exec(fields)?.[1]?.trim()
  const action = field('Action')?.toLowerCase()
  const code = field('Status')?.split(/\s/, 1)[0]
  const recipient = (field('Final-Recipient') ?? field('Original-Recipient'))?.replace(/^[^;]*;\s*/, '')
  const diagnostic = field('Diagnostic-Code')?.replace(/^[^;]*;\s*/, '')
  return {
    marks,
    action: action === 'delayed' ? 'delayed' : isGood(action) ? 'delivered' : 'failed',
    ...(code ? { status: code } : {}),
    ...(recipient ? { recipient } : {}),
    ...(diagnostic ? { diagnostic } : {}),
  }
}

function isGood(action: string | undefined): boolean {
  return action === 'delivered' || action === 'relayed' || action === 'expanded'
}

/** An out-of-office note answers a mail of ours too, with a null return path as it should. It is no bounce. */
function isOutOfOffice(mail: Mail): boolean {
  return /^\s*auto-replied\b/i.test(header(mail, 'auto-submitted') ?? '')
}

function everything(mail: Mail): string {
  const ids = [...mail.references, mail.inReplyTo ?? '', header(mail, 'x-failed-recipients') ?? '']
  return [...ids, mail.text.slice(0, MAX_SCAN), ...mail.parts.map((part) => decode(part.content))].join('\n')
}

function decode(content: Uint8Array): string {
  return new TextDecoder('latin1').decode(content.subarray(0, MAX_SCAN))
}
