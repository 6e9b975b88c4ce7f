import { hasAnswersInside } from './answers-inside.ts'
import {
  type Attribution,
  attributions,
  attributionWithin,
  MAX_LINES as MAX_ATTRIBUTION_LINES,
} from './attribution.ts'
import { headerBlock, headerFields, isHeaderBlock, MAX_BLOCK } from './header-block.ts'
import { indexOfFilled, isRule } from './lines.ts'
import type { Mailbox } from './parse.ts'
import { ORIGINAL_MESSAGE, REPLY_ABOVE } from './quote-words.ts'
import { SIGNATURE, withoutSignature } from './signature.ts'
import type { MailKind } from './subject.ts'

/** A private-use character that marks the start of a quote in text made from HTML. */
export const QUOTE_MARK = '\ue0f2'

/**
 * The text without quotes and signature. `quote`: whether there was a quote up to the end, and
 * whether it was removed.
 */
export type NewPart = { text: string; quote: 'none' | 'removed' | 'kept' }

/**
 * The new part of a mail's text, without quotes and signature. Nothing is cut if a quote is
 * unclear, may contain words of the sender, or if nothing else would remain. Takes linear time for
 * any input: libraries with backtracking expressions can take minutes on one hostile line.
 */
export function newPart(text: string, kind: MailKind, sender?: Partial<Mailbox>): string {
  return readNewPart(text, kind, sender).text
}

/** Like `newPart`, and says whether there was a quote. `fingerprint`: of our answered mail. */
export function readNewPart(
  text: string,
  kind: MailKind,
  sender?: Partial<Mailbox>,
  fingerprint?: string,
): NewPart {
  if (kind === 'forward') return { text: text.trim(), quote: 'kept' }
  const lines = text.split('\n').map((line) => (line === SIGNATURE ? line : line.trimEnd()))
  const part =
    kind === 'reply' ? newPartOfReply(normalised(lines), sender, fingerprint) : newPartOfFirst(lines)
  if (part.text !== '') return part
  return { text: text.trim(), quote: part.quote === 'none' ? 'none' : 'kept' }
}

function newPartOfFirst(lines: readonly string[]): NewPart {
  const end = lines.findIndex((_, at) => isForwardMark(lines, at))
  const own = withoutSignature(end === -1 ? lines : lines.slice(0, end), 'first').join('\n')
  return { text: end === -1 ? own.trim() : withForwarded(own, lines.slice(end)), quote: 'none' }
}

/** An empty text means that nothing is cut. */
function newPartOfReply(
  lines: readonly string[],
  sender: Partial<Mailbox> | undefined,
  fingerprint: string | undefined,
): NewPart {
  const introduced = introductions(lines)
  const end = endOfNew(lines, introduced, 0)
  const own = end === -1 ? lines : withoutIntroduction(lines.slice(0, end), introduced)
  const kept = withoutSignature(withoutQuotes(own, introduced), 'reply')
  if (end === -1) {
    const hasMarks = kept.length < own.length && own.some((line) => line.startsWith('>'))
    return { text: kept.join('\n').trim(), quote: hasMarks ? 'removed' : 'none' }
  }
  if (isForwardMark(lines, end))
    return { text: withForwarded(kept.join('\n'), lines.slice(end)), quote: 'kept' }
  const start = startOfQuote(lines, introduced, end)
  const next = endOfNew(lines, introduced, start)
  const isKept = hasAnswersInside({
    top: kept,
    quote: lines.slice(start),
    latest: lines.slice(start, next === -1 ? undefined : next),
    author: authorOf(lines, end, start),
    sender,
    fingerprint,
  })
  return isKept
    ? { text: '', quote: 'kept' }
    : { text: withoutRules(kept).join('\n').trim(), quote: 'removed' }
}

/** The author in the From line above a quote, or before the address of its attribution. */
function authorOf(lines: readonly string[], from: number, to: number): string {
  const introduction = lines.slice(from, to)
  for (const at of introduction.keys()) {
    const name = headerFields(introduction, at).get('from')
    if (name !== undefined) return name
  }
  return /([\p{L}][\p{L}. '"-]{0,60})\s?[<(]/u.exec(introduction.join(' ').slice(0, 1000))?.[1] ?? ''
}

/** The first line after an attribution, and after headers that follow it. */
function startOfQuote(
  lines: readonly string[],
  introduced: ReadonlyMap<number, Attribution>,
  end: number,
): number {
  const own = introduced.get(end)?.lines
  if (own !== undefined) return end + own
  const first = indexOfFilled(lines, end + 1)
  return first + (introduced.get(first)?.lines ?? 0)
}

function withForwarded(own: string, forwarded: readonly string[]): string {
  return `${own}\n${forwarded.join('\n')}`.trim()
}

/**
 * Converts quotes of old Gmail marked with `|` to `>`, and puts attributions on lines of their own.
 */
function normalised(lines: readonly string[]): string[] {
  const result: string[] = []
  for (const [at, line] of lines.entries()) {
    const within = attributionWithin(line)
    if (within === undefined || !lines[indexOfFilled(lines, at + 1)]?.startsWith('>')) result.push(line)
    else {
      // Zimbra puts a dash before the attribution.
      if (/[\p{L}\d]/u.test(line.slice(0, within))) result.push(line.slice(0, within))
      result.push(line.slice(within).replace(/^[-\s]+/, ''))
    }
  }
  if (!result.some((line) => line.startsWith('|'))) return result
  for (const [at, { lines: count }] of attributions(result)) {
    for (let bar = indexOfFilled(result, at + count); /^\|(?:\s|$)/.test(result[bar] ?? ''); bar++)
      result[bar] = (result[bar] ?? '').replace('|', '>')
  }
  return result
}

/** Attributions and header blocks above quotes; a header block counts as a sure attribution. */
function introductions(lines: readonly string[]): Map<number, Attribution> {
  const found = attributions(lines)
  for (const at of lines.keys()) {
    if (!found.get(at)?.sure && isHeaderBlock(lines, at))
      found.set(at, { lines: headerBlock(lines, at).length, sure: true })
  }
  return found
}

/** The index where a quote up to the end, or a forwarded mail, begins; -1 without one. */
function endOfNew(
  lines: readonly string[],
  introduced: ReadonlyMap<number, Attribution>,
  from: number,
): number {
  return lines.findIndex((line, at) => {
    if (at < from) return false
    const introduction = introduced.get(at)
    if (!introduction) return isOriginalMark(line) || isForwardMark(lines, at)
    const next = lines[indexOfFilled(lines, at + introduction.lines)]
    // Some clients do not mark quotes. Then only an attribution by a machine proves that the rest
    // is a quote.
    return next === undefined || (introduction.sure && !next.startsWith('>'))
  })
}

/** Removes an attribution at the very end. */
function withoutIntroduction(
  lines: readonly string[],
  introduced: ReadonlyMap<number, Attribution>,
): readonly string[] {
  const last = lines.findLastIndex((line) => line.trim() !== '' && !isRule(line))
  for (let at = last; at >= 0 && at > last - MAX_ATTRIBUTION_LINES; at--) {
    if (at + (introduced.get(at)?.lines ?? 0) === last + 1) return lines.slice(0, at)
  }
  return lines
}

/** Removes marked lines and their attributions. */
function withoutQuotes(
  lines: readonly string[],
  introduced: ReadonlyMap<number, Attribution>,
): readonly string[] {
  if (!lines.some((line) => line.startsWith('>'))) return lines
  const isQuoted = (at: number) => lines[indexOfFilled(lines, at)]?.startsWith('>')
  // Some clients put the attribution into the quote.
  const unmarked = lines.map((line) => line.replace(/^>+ ?/, ''))
  const block = lines.findIndex((line, at) => isMarkedBlock(line, unmarked, at))
  let start = block === -1 ? lines.length : block
  for (const [at, { lines: count }] of introductions(unmarked)) {
    if (isQuoted(at + count)) start = Math.min(start, at)
  }
  const kept = [...lines]
  for (const [at, { lines: count }] of introduced) {
    if (at + count <= lines.length && isQuoted(at + count)) kept.fill('>', at, at + count)
  }
  return kept.filter((line, at) => at < start || !line.startsWith('>'))
}

/** Hotmail starts a marked quote with headers, in its own order. */
function isMarkedBlock(line: string, unmarked: readonly string[], at: number): boolean {
  return line.startsWith('>') && /^subject:/i.test(unmarked[at] ?? '') && headerFields(unmarked, at).size >= 4
}

function withoutRules(lines: readonly string[]): readonly string[] {
  const last = lines.findLastIndex((line) => line.trim() !== '' && !isRule(line))
  return lines.slice(0, last + 1)
}

/** Maximum characters of a line that introduces an original or forwarded mail. */
const MAX_MARK = 80
/** Maximum characters of a line of a help desk: "Reply above this line". */
const MAX_REPLY_ABOVE = 160

/**
 * Whether this is the line above the headers of a forwarded mail, between dashes or with a colon,
 * in any language.
 */
function isForwardMark(lines: readonly string[], at: number): boolean {
  const line = lines[at] ?? ''
  const isMark = betweenDashes(line) || (line.length < MAX_MARK && /[^:：\s]\s?[:：]$/.test(line))
  if (!isMark || isOriginalMark(line)) return false
  const next = indexOfFilled(lines, at + 1)
  const below = lines.slice(next, next + MAX_BLOCK).map((each) => each.replace(/^>+ ?/, ''))
  return headerFields(below, 0).size >= 3
}

function isOriginalMark(line: string): boolean {
  if (line === QUOTE_MARK) return true
  if (line.length > MAX_REPLY_ABOVE) return false
  const words = betweenDashes(line)
  if (words !== undefined && ORIGINAL_MESSAGE.some((each) => words.startsWith(each))) return true
  const text = line.toLowerCase()
  return REPLY_ABOVE.some((each) => text.includes(each)) && REPLY_WORD.test(text)
}

/** A word for replying or writing, or a line of dashes. */
const REPLY_WORD =
  /^\W{2,}|repl|respon|type|write|answer|antwort|schreib|répon|répond|respuesta|rispo|respost|antwoord|reageer|svar|vasta|odpow|odpov|ответ|yanıt|返信|回复|回覆/u

/** The words between dashes, in lower case: `original message` for `-----Original Message-----`. */
function betweenDashes(line: string): string | undefined {
  const text = line.replace(/^[*\s]{1,3}|[*\s]{1,3}$/g, '')
  if (text.length > MAX_MARK || !(text.startsWith('--') || text.startsWith('##'))) return undefined
  return text
    .replaceAll(/[-#]{2,}/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replace(/^- /, '')
    .toLowerCase()
}
