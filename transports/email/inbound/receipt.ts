import { marksIn } from '../own-id.ts'
import { reportType } from './bounce.ts'
import type { Mail } from './parse.ts'

/** What somebody, or their mail program, did with a mail of ours (RFC 8098). */
export type ReadReceipt = {
  marks: string[]
  /** `read`, or as the receipt calls it: `deleted`, `processed`, `dispatched`, … */
  disposition: string
}

const MAX_SCAN = 65_536

/** Recognises a message disposition notification. Undefined for any other mail. */
export function readReceipt(mail: Mail): ReadReceipt | undefined {
  if (reportType(mail) !== 'disposition-notification') return undefined
  const part = mail.parts.find(({ type }) => /^message\/(global-)?disposition-notification$/.test(type))
  const fields = part ? new TextDecoder('latin1').decode(part.content.subarray(0, MAX_SCAN)) : ''
  const said = /^Disposition:[^;\r\n]{0,200};[ \t]*([a-z-]{1,40})/im.exec(fields)?.[1]?.toLowerCase()
  return {
    marks: marksIn([fields, mail.inReplyTo ?? '', ...mail.references].join('\n')),
    disposition: said === undefined || said === 'displayed' ? 'read' : said,
  }
}
