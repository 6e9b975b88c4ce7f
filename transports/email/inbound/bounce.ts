import type { TransportDeps } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { marksIn, type SentLog } from '../sent-log.ts'
import { hasNullReturnPath } from './automatic.ts'
import { header, type Mail } from './parse.ts'

/**
 * What a mail tells about sends. `bounce` and `receipt`: about one of ours, to which it is tied. `foreign`: a bounce
 * of something that others sent from this mailbox. Undefined: it is a message.
 */
export type SentReports = (mail: Mail) => Promise<'bounce' | 'receipt' | 'foreign' | undefined>

/** Ties bounces and read receipts to what this gateway sent: in the log, the history and the metrics. */
export function createSentReports({ deps, sent }: { deps: TransportDeps; sent: SentLog }): SentReports {
  const { log } = deps
  return async (mail) => {
    const report = readBounce(mail) ?? readReceipt(mail)
    if (!report) return undefined
    const { kind, isReport, marks, action, ...detail } = report
    const found = await Promise.all(marks.map(async (mark) => ({ mark, record: await sent.get(mark) })))
    const records = found.flatMap(({ mark, record }) => (record ? [{ mark, record }] : []))
    if (records.length === 0 && !isReport) return undefined
    deps.refused(kind)
    for (const { mark, record } of records) {
      const { inReplyTo, conversation, key, to } = record
      if (kind === 'bounce') await sent.set(mark, { ...record, state: 'sent' })
      if (inReplyTo) deps.note(inReplyTo, `reply ${action}`, { ...detail, to })
      const fields = { ...detail, messageId: inReplyTo, conversation, key }
      if (action === 'failed') log.error(fields, `mail to ${to} came back`)
      else log.info(fields, `mail to ${to} is reported as ${action}`)
    }
    if (records.length > 0) return kind
    log.info({ ...detail }, 'a bounce of mail that this gateway did not send was left alone')
    return 'foreign'
  }
}

/** What became of mail of ours: it was not delivered, or not yet (RFC 3464), or what somebody did with it (RFC 8098). */
type Report = {
  kind: 'bounce' | 'receipt'
  /** A bounce that says in the form of RFC 3464 that it is one. All else counts where one of `marks` was really sent. */
  isReport: boolean
  /** The sends it is about; none where it does not say. */
  marks: string[]
  /** `failed`, `delayed` or `delivered`; of a receipt `read`, `deleted`, … */
  action: string
  /** `5.1.1`, where it is given. */
  status?: string
  recipient?: string
  diagnostic?: string
}

const MAX_SCAN = 262_144

/**
 * Recognises a delivery status notification, which is a multipart/report as a whole (Postfix, Exchange, Gmail, Exim),
 * and the notices of servers that write none: plain texts with what they were sent (qmail, Courier, older Exim).
 * A part of somebody's mail that is such a report, and whatever else a postmaster writes, is mail like any other.
 */
export function readBounce(mail: Mail): Report | undefined {
  const status = mail.parts.find((part) => /^message\/(global-)?delivery-status$/.test(part.type))
  const type = reportType(mail)
  // Of something else: that it was read (RFC 8098), or is taken for spam (RFC 5965).
  if (type && type !== 'delivery-status') return undefined
  const isReport = type === 'delivery-status' || (type === '' && status !== undefined)
  const marks = isReport ? marksIn(`${threadOf(mail)}\n${contentOf(mail)}`) : noticeMarks(mail)
  if (!isReport && marks.length === 0) return undefined

  const fields = status ? decode(status.content) : ''
  const field = (name: string) => new RegExp(`^${name}:[ \\t]*(.{1,500})$`, 'im').exec(fields)?.[1]?.trim()
  const typed = (name: string) => field(name)?.replace(/^[^;]*;\s*/, '')
  const text = mail.text.slice(0, MAX_SCAN)
  // qmail (QSBMF) writes `<gone@example.org>:` and `(#5.1.1)`; Exim and Gmail have a header.
  const code = field('Status')?.split(/\s/, 1)[0] ?? /\(#([245]\.\d{1,3}\.\d{1,3})\)/.exec(text)?.[1]
  const recipient =
    (typed('Final-Recipient') ??
      typed('Original-Recipient') ??
      header(mail, 'x-failed-recipients')?.slice(0, 500)) ||
    /^<([^<>\s]{1,320})>:[ \t]*$/m.exec(text)?.[1]
  return {
    kind: 'bounce',
    isReport,
    marks,
    action: actionOf(field('Action')?.toLowerCase(), mail),
    ...defined({ status: code, recipient, diagnostic: typed('Diagnostic-Code') }),
  }
}

/** Recognises a message disposition notification. Undefined for any other mail. */
function readReceipt(mail: Mail): Report | undefined {
  if (reportType(mail) !== 'disposition-notification') return undefined
  const part = mail.parts.find(({ type }) => /^message\/(global-)?disposition-notification$/.test(type))
  const fields = part ? decode(part.content) : ''
  const said = /^Disposition:[^;\r\n]{0,200};[ \t]*([a-z-]{1,40})/im.exec(fields)?.[1]?.toLowerCase()
  const action = said === undefined || said === 'displayed' ? 'read' : said
  return { kind: 'receipt', isReport: false, marks: marksIn(`${threadOf(mail)}\n${fields}`), action }
}

/** What a multipart/report is about (RFC 6522), `''` where it does not say; undefined for every other mail. */
function reportType(mail: Mail): string | undefined {
  const type = (header(mail, 'content-type') ?? '').slice(0, 2000)
  if (!/^\s*multipart\/report\b/i.test(type)) return undefined
  return /\breport-type\s*=\s*"?([\w-]+)/i.exec(type)?.[1]?.toLowerCase() ?? ''
}

/**
 * The marks by which a text could be a bounce: those of the mail that it gives back. That it answers one of ours
 * proves nothing, so does an out-of-office note, with a null return path as it should.
 */
function noticeMarks(mail: Mail): string[] {
  // Exim and Gmail say so outright.
  if (header(mail, 'x-failed-recipients')) return marksIn(`${threadOf(mail)}\n${contentOf(mail)}`)
  const sender = mail.from[0]?.address ?? ''
  // A postmaster is a person as well, whose mail has a return path.
  const isPostmaster = sender.startsWith('postmaster@') && !header(mail, 'return-path')
  const isNobody = (hasNullReturnPath(mail) || isPostmaster) && !isAutoReply(mail)
  return isNobody || sender.startsWith('mailer-daemon@') ? marksIn(contentOf(mail)) : []
}

const AUTO_REPLY_SUBJECT =
  /^\s*(auto(matic)?[ -]?(reply|response)|out of( the)? office|automatische antwort|abwesenheit|réponse automatique|respuesta automática|risposta automatica|automatisch antwoord)/i

/** An out-of-office note or the like; Exchange calls its own `auto-generated`. */
function isAutoReply(mail: Mail): boolean {
  return (
    /^\s*auto-replied\b/i.test(header(mail, 'auto-submitted') ?? '') ||
    header(mail, 'x-auto-response-suppress') !== undefined ||
    header(mail, 'x-ms-exchange-inbox-rules-loop') !== undefined ||
    AUTO_REPLY_SUBJECT.test(mail.subject ?? '')
  )
}

function actionOf(action: string | undefined, mail: Mail): string {
  if (action === 'delayed') return 'delayed'
  if (action === 'delivered' || action === 'relayed' || action === 'expanded') return 'delivered'
  return action === undefined && /\b(delayed|warning)\b/i.test(mail.subject ?? '') ? 'delayed' : 'failed'
}

/** The mail that it answers. */
function threadOf(mail: Mail): string {
  return [...mail.references, mail.inReplyTo ?? ''].join('\n')
}

/** Its texts and parts, with the mail or the headers that it gives back. */
function contentOf(mail: Mail): string {
  // The part of a mail that could not be taken apart is that mail itself, with the headers that it threads by.
  const parts = mail.unreadable === undefined ? mail.parts : []
  return [mail.text.slice(0, MAX_SCAN), ...parts.map((part) => decode(part.content))].join('\n')
}

function decode(content: Uint8Array): string {
  return new TextDecoder('latin1').decode(content.subarray(0, MAX_SCAN))
}
