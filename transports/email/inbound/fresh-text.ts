import { hasColouredAnswers, quoteStart } from './html-quote.ts'
import type { Mail } from './parse.ts'
import { htmlToText, plain } from './readable-text.ts'
import { QUOTE_MARK, readNewPart } from './reply-text.ts'
import { kindOfMail } from './subject.ts'

/** Maximum characters to search for quotes, as this takes time. */
const MAX_LOOK = 262_144

/**
 * The new part of a mail's text, also using its HTML to find quotes. Coloured words in a quote
 * count as answers, so the quote stays; the same for words that are not in the answered mail
 * (fingerprint `said`). A quote without an introduction is found by its HTML element.
 */
export function freshText(mail: Mail, said?: string): string {
  const kind = kindOfMail(mail)
  const sender = mail.from[0]
  const start = mail.text.slice(0, MAX_LOOK).trimEnd()
  const { text: fresh, quote } = readNewPart(start, kind, sender, said)
  // If everything up to the limit is new, the rest belongs to it.
  const isNew = mail.text.length > MAX_LOOK && endOf(fresh) === endOf(start)
  const whole = isNew ? (fresh + mail.text.slice(start.length)).trimEnd() : fresh
  if (kind !== 'reply' || !mail.html || quote === 'kept') return whole
  if (quote === 'removed') return hasColouredAnswers(mail.html) ? mail.text.trim() : whole
  const at = quoteStart(mail.html)
  if (at === undefined || mail.text.length > MAX_LOOK) return whole
  const marked = `${mail.html.slice(0, at)}<div>${QUOTE_MARK}</div>${mail.html.slice(at)}`
  const found = readNewPart(plain(htmlToText(marked)), kind, sender, said)
  return found.quote === 'removed' && !found.text.includes(QUOTE_MARK) && !hasColouredAnswers(mail.html)
    ? found.text
    : whole
}

/** The last characters of a text, ignoring spaces, which the new part no longer has at line ends. */
function endOf(text: string): string {
  return text.slice(-10_000).replaceAll(/\s+/g, '').slice(-100)
}
