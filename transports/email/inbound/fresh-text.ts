import { hasColouredAnswers, quoteStart } from './html-quote.ts'
import type { Mail } from './parse.ts'
import { htmlToText, plain } from './readable-text.ts'
import { QUOTE_MARK, readNewPart } from './reply-text.ts'
import { kindOfMail } from './subject.ts'

/** So much is searched for quotes (characters), which takes time. */
const MAX_LOOK = 262_144

/**
 * The new part of a mail: of its text, with what its HTML says of quotes. Coloured words in a quote are taken for
 * answers, so it stays, and so do words that are not in the mail with the fingerprint `said`, which it answers; a quote that nothing in the text introduces is found by the element that holds it.
 */
export function freshText(mail: Mail, said?: string): string {
  const kind = kindOfMail(mail)
  const sender = mail.from[0]
  const start = mail.text.slice(0, MAX_LOOK).trimEnd()
  const { text: fresh, quote } = readNewPart(start, kind, sender, said)
  // What is new to the end of the part that was searched is followed by what is behind it.
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

/** The last letters of a text. Blanks do not count: those at the ends of lines are gone from the new part. */
function endOf(text: string): string {
  return text.slice(-10_000).replaceAll(/\s+/g, '').slice(-100)
}
