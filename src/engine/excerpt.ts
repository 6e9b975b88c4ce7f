import type { Message } from '../core/message.ts'
import { eventOf, type MessageQuery, SEARCHED_LENGTH, wholeNumber } from '../core/message-query.ts'
import { foldedPattern } from '../lib/fold-text.ts'

/** Approximate number of characters of a text that lists show. */
const SHOWN = 60
/** Number of characters before and after a match, and the maximum of the part that is searched. */
const AROUND = { before: 24, after: 60, searched: 1_000 }

/**
 * The text around the first match that a row of a list would not show, because the text is long or the
 * list shows a summary of the body. Undefined if the row shows all matches.
 */
export function excerptOf(
  { subject, text, from, data }: Pick<Message, 'subject' | 'text' | 'from' | 'data'>,
  summary: string | undefined,
  { text: part, words = [], numbers = [] }: MessageQuery,
): string | undefined {
  const parts = [...(part === undefined ? [] : [part]), ...words]
    .filter(({ length }) => length <= AROUND.searched)
    .map((word) => new RegExp(foldedPattern(word), 'iu'))
  const sender = from.name ?? from.address ?? from.id
  const shown = [eventOf({ data }), subject, summary ?? text.slice(0, SHOWN), sender]
  for (const pattern of [...parts, ...numbers.map(wholeNumber)]) {
    if (shown.some((field) => field !== undefined && pattern.test(field))) continue
    const found = pattern.exec(text.slice(0, SEARCHED_LENGTH))
    if (found) return around(text, found.index, found[0].length)
  }
  return undefined
}

function around(text: string, start: number, length: number): string {
  const from = Math.max(0, start - AROUND.before)
  const to = Math.min(text.length, start + length + AROUND.after)
  const cut = text.slice(from, to).replaceAll(/\s+/g, ' ').trim()
  return `${from > 0 ? '…' : ''}${cut}${to < text.length ? '…' : ''}`
}
