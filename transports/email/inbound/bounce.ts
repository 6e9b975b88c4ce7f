import type { TransportDeps } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { header } from '../mime/head.ts'
import { marksIn, type SentLog } from '../sent-log.ts'
import { type Mail, startOf } from './parse.ts'

/**
 * Recognises bounces. `bounce`: of our own send, to which it is assigned in the log, the history
 * and the metrics by `tell`. `foreign`: of another send from this mailbox. Undefined: an ordinary
 * message.
 */
export function createBounces(deps: TransportDeps, sent: SentLog) {
  const { log } = deps
  return async (mail: Mail) => {
    const bounce = readBounce(mail)
    if (!bounce) return undefined
    const { isReport, marks, action, ...detail } = bounce
    const records = (await Promise.all(marks.map(sent.arrived))).filter((each) => each !== undefined)
    if (records.length === 0 && !isReport) return undefined
    const isOurs = records.length > 0
    const tell = () => {
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
    return { outcome: isOurs ? ('bounce' as const) : ('foreign' as const), tell }
  }
}

const MAX_SCAN = 262_144
/** Subjects of notices about a delay, which is not final. */
const LATE = /\b(delayed|warning)\b/i

/**
 * Recognises delivery status notifications (multipart/report), and plain-text notices of servers
 * that do not support these (qmail, older Exim). `isReport`: in the format of RFC 3464; other
 * notices count only if one of `marks`, the sends they are about, is ours. `action`: the keyword of
 * RFC 3464 (`failed`, `delayed`, `delivered`, …).
 */
export function readBounce(mail: Mail) {
  const status = mail.parts.find((part) => /^message\/(global-)?delivery-status$/.test(part.type))
  const type = reportType(mail)
  // About something else: a read receipt (RFC 8098) or a spam complaint (RFC 5965).
  if (type && type !== 'delivery-status') return undefined
  const isReport = type === 'delivery-status' || (type === '' && status !== undefined)
  // Exim and Gmail identify bounces in a header. For other servers, only the returned mail counts,
  // not what it quotes.
  const isTold = isReport || Boolean(header(mail, 'x-failed-recipients'))
  if (!isTold && !mail.from[0]?.address.startsWith('mailer-daemon@')) return undefined
  const thread = isTold ? [...mail.references, mail.inReplyTo] : []
  // The only part of an unreadable mail is the mail itself, with its threading headers.
  const parts = mail.unreadable === undefined ? mail.parts : []
  const content = [mail.text.slice(0, MAX_SCAN), ...parts.map((part) => startOf(part, MAX_SCAN))]
  const marks = marksIn([...thread, ...content].join('\n'))
  if (!isReport && marks.length === 0) return undefined

  const fields = status ? startOf(status, MAX_SCAN) : ''
  const field = (name: string) => new RegExp(`^${name}:[ \\t]*(.{1,500})$`, 'im').exec(fields)?.[1]?.trim()
  const typed = (name: string) => field(name)?.replace(/^[^;]*;\s*/, '')
  const code = field('Status')?.split(/\s/, 1)[0]
  const recipient = typed('Final-Recipient') ?? header(mail, 'x-failed-recipients')?.slice(0, 500)
  return {
    isReport,
    marks,
    action: field('Action')?.toLowerCase() ?? (LATE.test(mail.subject ?? '') ? 'delayed' : 'failed'),
    ...defined({ status: code, recipient, diagnostic: typed('Diagnostic-Code') }),
  }
}

/** The report type of a multipart/report (RFC 6522), `''` if missing; undefined for other mails. */
function reportType(mail: Mail): string | undefined {
  const type = (header(mail, 'content-type') ?? '').slice(0, 2000)
  if (!/^\s*multipart\/report\b/i.test(type)) return undefined
  return /\breport-type\s*=\s*"?([\w-]+)/i.exec(type)?.[1]?.toLowerCase() ?? ''
}
