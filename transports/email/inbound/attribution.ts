import { ATTRIBUTION_STARTS, ATTRIBUTION_VERBS } from './quote-words.ts'

/**
 * A line such as "On … wrote:" above a quote. A `sure` one has a date, a time and an author in an
 * order that programs use. Others may have been written by a person, and only count above a marked
 * quote.
 */
export type Attribution = { lines: number; sure: boolean }

const MAX_LENGTH = 400
/** Clients wrap an attribution into up to four lines; some add empty lines around the address. */
export const MAX_LINES = 6
const END = /[:：]$|[^\s-]\s?-{2,}$/
const ADDRESS_IN_BRACKETS = /<\s?[^\s<>]{1,254}@[^\s<>]{1,254}>/
const ADDRESS_IN_PARENTHESES = /\(\s?[^\s()]{1,254}@[^\s()]{1,254}\)/
const TIME = /\d{1,2}[:.]\d{2}/
const YEAR = /\b(?:19|20)\d{2}\b|\b\d{1,2}[-./]\d{1,2}[-./]\d{2}\b/
/** Gmail used no verb and no colon for years: "2016-03-03 Anna <anna@example.net>". */
const DATE_AND_AUTHOR = /^\d{4}[-/.]\d{1,2}[-/.]\d{1,2}\s.*<[^\s<>]+@[^\s<>]+>$/
/** The end of an attribution whose address did not fit on its line. */
const WRAPPED_END = /^>\s?[\p{L}\s]{0,20}:?$/u

/** Finds attributions by the index of their first line. Takes linear time for any input. */
export function attributions(lines: readonly string[]): Map<number, Attribution> {
  const found = new Map<number, Attribution>()
  for (const [at, line] of lines.entries()) {
    if (line.length > MAX_LENGTH || !mayEnd(line)) continue
    const attribution = endingAt(lines, at)
    if (attribution) found.set(at - attribution.lines + 1, attribution)
  }
  return found
}

/**
 * The length of the text before an attribution on the same line ("Yes. On Wed, … wrote:"), if there
 * is one.
 */
export function attributionWithin(line: string): number | undefined {
  if (line.length > MAX_LENGTH || line.startsWith('>') || !END.test(line)) return undefined
  for (const { index, 0: gap } of line.matchAll(/(?:\s|-{2,}\s?)(?=\p{Lu})/gu)) {
    const start = index + gap.length
    const rest = line.slice(start).toLowerCase()
    if (index > 0 && startsWithDate(rest) && kindOf(rest) === 'sure') return index
  }
  return undefined
}

function mayEnd(line: string): boolean {
  if (END.test(line) || DATE_AND_AUTHOR.test(line)) return true
  const text = line.toLowerCase()
  return ATTRIBUTION_VERBS.some((verb) => text.endsWith(verb)) && ADDRESS_IN_BRACKETS.test(text)
}

/**
 * The attribution that ends here. It may have several lines: prefers a number of lines with a
 * typical start, then the shortest `sure` attribution.
 */
function endingAt(lines: readonly string[], end: number): Attribution | undefined {
  let best: Attribution | undefined
  let joined = ''
  for (let count = 1; count <= MAX_LINES; count++) {
    const line = lines[end - count + 1]?.trim().toLowerCase()
    if (line === undefined) break
    if (line === '' && joined.startsWith('<')) continue
    if (line === '' || (line.startsWith('>') && !(count === 1 && WRAPPED_END.test(line)))) break
    const isGlued = joined === '' || joined.startsWith('>')
    joined = isGlued ? line + joined : `${line} ${joined}`
    if (joined.length > MAX_LENGTH) break
    // Clients wrap around the bracket of an address, so the previous line belongs to it.
    if (/[<(]$/.test(lines[end - count]?.trimEnd() ?? '') || joined.startsWith('<')) continue
    const kind = kindOf(joined)
    const sure = kind === 'sure'
    if (kind && startOf(bare(joined)) !== undefined) return { lines: count, sure }
    if (kind && (!best || (sure && !best.sure))) best = { lines: count, sure }
  }
  return best
}

function kindOf(line: string): 'sure' | 'likely' | undefined {
  const text = bare(line)
  const inBrackets = ADDRESS_IN_BRACKETS.test(text)
  // This cheap test excludes most lines with a colon.
  const isPossible = /\d/.test(text) || inBrackets || text !== line || startOf(text) !== undefined
  if (!isPossible) return undefined
  const hasVerb = ATTRIBUTION_VERBS.some((verb) => text.includes(verb))
  if (inBrackets && TIME.test(text) && (hasVerb || /@[^<>]{1,254}>\s?[:：]$/.test(text))) return 'sure'
  if (hasVerb && TIME.test(text) && startsWithDate(text)) {
    if (YEAR.test(text) || ADDRESS_IN_PARENTHESES.test(text)) return 'sure'
  }
  const hasAddressAndDate = text.indexOf('@') > 0 && /\d{4}|\d{1,2}[:.]\d{2}/.test(text)
  return hasVerb || hasAddressAndDate ? 'likely' : undefined
}

/** Removes the dashes that some clients put around an attribution. */
function bare(line: string): string {
  return line
    .replace(/^-{2,}\s?/, '')
    .replace(/\s?-{2,}$/, '')
    .replace(/>(?=\p{L}+:?$)/u, '> ')
}

function startOf(text: string): string | undefined {
  return ATTRIBUTION_STARTS.find((start) => text.startsWith(start))
}

/**
 * "on 3 may", "on wed, sep 25", "am 21.04.": a sentence of a person rarely has a number that early.
 */
function startsWithDate(text: string): boolean {
  const start = startOf(text)
  return start !== undefined && /^\D{0,20}\d/.test(text.slice(start === '20' ? 0 : start.length))
}
