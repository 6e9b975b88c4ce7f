import { hasColouredAnswers, quoteStart } from './html-quote.ts'
import type { Mail } from './parse.ts'
import { cleanText, htmlToText } from './readable-text.ts'
import { QUOTE_MARK, readNewPart } from './reply-text.ts'
import { kindOfMail } from './subject.ts'

/** Maximum characters that are searched for quotes, which takes time. */
const MAX_SCAN = 262_144

/**
 * The new part of a mail's text, without quotes. A quote stays if it may contain answers: coloured
 * words in the HTML, or words that the answered mail does not have (`fingerprint`). The HTML also
 * shows where a quote without an introduction begins.
 */
export function freshText(mail: Mail, fingerprint?: string): string {
  const kind = kindOfMail(mail)
  const sender = mail.from[0]
  const start = mail.text.slice(0, MAX_SCAN).trimEnd()
  const { text: fresh, quote } = readNewPart(start, kind, sender, fingerprint)
  // If everything up to the limit is new, the rest belongs to it.
  const isAllNew = mail.text.length > MAX_SCAN && endOf(fresh) === endOf(start)
  const byText = isAllNew ? (fresh + mail.text.slice(start.length)).trimEnd() : fresh
  if (kind !== 'reply' || !mail.html || quote === 'kept') return byText
  if (quote === 'removed') return hasColouredAnswers(mail.html) ? mail.text.trim() : byText
  const at = quoteStart(mail.html)
  if (at === undefined || mail.text.length > MAX_SCAN) return byText
  const marked = `${mail.html.slice(0, at)}<div>${QUOTE_MARK}</div>${mail.html.slice(at)}`
  const byHtml = readNewPart(cleanText(htmlToText(marked)), kind, sender, fingerprint)
  const isRemoved = byHtml.quote === 'removed' && !byHtml.text.includes(QUOTE_MARK)
  return isRemoved && !hasColouredAnswers(mail.html) ? byHtml.text : byText
}

/** The last 100 characters of a text without spaces: the new part has none at line ends. */
function endOf(text: string): string {
  return text.slice(-10_000).replaceAll(/\s+/g, '').slice(-100)
}
