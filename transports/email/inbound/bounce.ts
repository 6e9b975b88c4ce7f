import type { TransportDeps } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { header } from '../mime/head.ts'
import { marksIn, type SentLog } from '../sent-log.ts'
import { type Mail, startOf } from './parse.ts'

/**
 * Tells bounces. `bounce`: of a send of ours, to which it is tied in the log, the history and the metrics. `foreign`: of
 * something that others sent from this mailbox; `tell` does the tying. Undefined: it is a message.
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
      if (!isOurs) log.info({ ...detail }, 'a bounce of mail that this gateway did not send was left alone')
      for (const { inReplyTo, conversation, key, to } of records) {
        const what = action === 'failed' ? 'bounced' : `reply ${action}`
        if (inReplyTo) deps.note(inReplyTo, what, { ...detail, to, key })
        const fields = { ...detail, messageId: inReplyTo, conversation, key }
        if (action === 'failed') log.error(fields, `mail to ${to} came back`)
        else log.info(fields, `mail to ${to} is reported as ${action}`)
      }
    }
    return { outcome: isOurs ? ('bounce' as const) : ('foreign' as const), tell }
  }
}

const MAX_SCAN = 262_144
/** How the subject of a notice says that it is not the end yet. */
const LATE = /\b(delayed|warning)\b/i

/**
 * Recognises a delivery status notification, which is a multipart/report as a whole, and the notices of servers that
 * write none: plain texts with what they were sent (qmail, older Exim). All else is mail like any other.
 * `isReport`: it is one in the form of RFC 3464; all else counts where one of `marks`, the sends it is about, is ours.
 * `action` is the word of RFC 3464: `failed`, `delayed`, `delivered`, …
 */
export function readBounce(mail: Mail) {
  const status = mail.parts.find((part) => /^message\/(global-)?delivery-status$/.test(part.type))
  const type = reportType(mail)
  // Of something else: that it was read (RFC 8098), or is taken for spam (RFC 5965).
  if (type && type !== 'delivery-status') return undefined
  const isReport = type === 'delivery-status' || (type === '' && status !== undefined)
  // Exim and Gmail say so outright. With other daemons only the mail that they give back counts, not what they answer.
  const isTold = isReport || Boolean(header(mail, 'x-failed-recipients'))
  if (!isTold && !mail.from[0]?.address.startsWith('mailer-daemon@')) return undefined
  const thread = isTold ? [...mail.references, mail.inReplyTo] : []
  // The part of a mail that could not be taken apart is that mail itself, with the headers that it threads by.
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

/** What a multipart/report is about (RFC 6522), `''` where it does not say; undefined for every other mail. */
function reportType(mail: Mail): string | undefined {
  const type = (header(mail, 'content-type') ?? '').slice(0, 2000)
  if (!/^\s*multipart\/report\b/i.test(type)) return undefined
  return /\breport-type\s*=\s*"?([\w-]+)/i.exec(type)?.[1]?.toLowerCase() ?? ''
}
