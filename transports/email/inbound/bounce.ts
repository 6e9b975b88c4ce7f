import type { TransportDeps } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { header } from '../mime/head.ts'
import { marksIn, type SentLog } from '../sent-log.ts'
import { type Mail, startAsText } from './parse.ts'

/**
 * Recognises bounces. The outcome is `bounce` if we sent the bounced mail, and `foreign` if
 * something else sent it from this mailbox. Undefined for other mails. `report` adds the bounce to
 * the log, the metrics and the history of the answered message.
 */
export function createBounces(deps: TransportDeps, sent: SentLog) {
  const { log } = deps
  return async (mail: Mail) => {
    const bounce = readBounce(mail)
    if (!bounce) return undefined
    const { isReport, marks, action, ...detail } = bounce
    const records = (await Promise.all(marks.map(sent.confirm))).filter((each) => each !== undefined)
    if (records.length === 0 && !isReport) return undefined
    const isOurs = records.length > 0
    const report = () => {
      deps.refused('bounce', { from: mail.from[0]?.address, body: mail.text })
      if (!isOurs) log.info({ ...detail }, 'ignored a bounce of mail that this gateway did not send')
      for (const { inReplyTo, conversation, key, to } of records) {
        const what = action === 'failed' ? 'bounced' : `reply ${action}`
        if (inReplyTo) deps.note(inReplyTo, what, { ...detail, to, key })
        const fields = { ...detail, messageId: inReplyTo, conversation, key }
        if (action === 'failed') log.error(fields, `mail to ${to} bounced`)
        else log.info(fields, `mail to ${to} is reported as ${action}`)
      }
    }
    return { outcome: isOurs ? ('bounce' as const) : ('foreign' as const), report }
  }
}

/** Maximum characters of the text and of each part that are searched. */
const MAX_SCAN = 262_144
/** Subjects of notices about a delay, after which the mail may still arrive. */
const LATE = /\b(delayed|warning)\b/i

/**
 * Recognises delivery status notifications (multipart/report), and plain-text notices of servers
 * that do not support these (qmail, older Exim). `isReport`: it has the format of RFC 3464.
 * `marks`: the marks of our sends that it contains; notices in another format count only if they
 * have one. `action`: the keyword of RFC 3464 (`failed`, `delayed`, `delivered`, …).
 */
export function readBounce(mail: Mail) {
  const status = mail.parts.find((part) => /^message\/(global-)?delivery-status$/.test(part.type))
  const type = reportType(mail)
  // About something else: a read receipt (RFC 8098) or a spam complaint (RFC 5965).
  if (type && type !== 'delivery-status') return undefined
  const isReport = type === 'delivery-status' || (type === '' && status !== undefined)
  // Exim and Gmail identify bounces in a header. Otherwise the threading headers do not count.
  const isIdentified = isReport || Boolean(header(mail, 'x-failed-recipients'))
  if (!isIdentified && !mail.from[0]?.address.startsWith('mailer-daemon@')) return undefined
  const thread = isIdentified ? [...mail.references, mail.inReplyTo] : []
  // The only part of an unreadable mail is the mail itself, with its threading headers.
  const parts = mail.unreadable === undefined ? mail.parts : []
  const content = [mail.text.slice(0, MAX_SCAN), ...parts.map((part) => startAsText(part, MAX_SCAN))]
  const marks = marksIn([...thread, ...content].join('\n'))
  if (!isReport && marks.length === 0) return undefined

  const fields = status ? startAsText(status, MAX_SCAN) : ''
  const field = (name: string) => new RegExp(`^${name}:[ \\t]*(.{1,500})$`, 'im').exec(fields)?.[1]?.trim()
  /** The value of a field without its type, as in `rfc822; anna@example.net`. */
  const untyped = (name: string) => field(name)?.replace(/^[^;]*;\s*/, '')
  const code = field('Status')?.split(/\s/, 1)[0]
  const recipient = untyped('Final-Recipient') ?? header(mail, 'x-failed-recipients')?.slice(0, 500)
  return {
    isReport,
    marks,
    action: field('Action')?.toLowerCase() ?? (LATE.test(mail.subject ?? '') ? 'delayed' : 'failed'),
    ...defined({ status: code, recipient, diagnostic: untyped('Diagnostic-Code') }),
  }
}

/** The report type of a multipart/report (RFC 6522), `''` if missing; undefined for other mails. */
function reportType(mail: Mail): string | undefined {
  const type = (header(mail, 'content-type') ?? '').slice(0, 2000)
  if (!/^\s*multipart\/report\b/i.test(type)) return undefined
  return /\breport-type\s*=\s*"?([\w-]+)/i.exec(type)?.[1]?.toLowerCase() ?? ''
}
