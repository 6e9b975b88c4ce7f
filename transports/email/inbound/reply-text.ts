import { attributions, headerFields, isHeaderBlock } from './attribution.ts'
import { DEVICE_NAMES, DEVICE_STARTS, ORIGINAL_MESSAGE } from './quote-words.ts'
import type { MailKind } from './subject.ts'

/**
 * The new part of a mail's text: without quoted text and without the signature, as a person would read it out. Where
 * it is not plain what is quoted, or nothing else would be left, nothing is cut: what a person wrote must not be lost.
 * Takes time linear in the text, whatever is in it: libraries that do this with backtracking expressions can be stopped
 * for minutes by one hostile line.
 */
export function newPart(text: string, kind: MailKind): string {
  if (kind === 'forward') return text.trim()
  // The space is what makes two dashes a signature's (RFC 3676, section 4.3).
  const lines = text.split('\n').map((line) => (line === SIGNATURE ? line : line.trimEnd()))
  const end = kind === 'reply' ? endOfNew(lines) : lines.findIndex((_, at) => isForwardMark(lines, at))
  const own = end === -1 ? lines : lines.slice(0, end)
  const kept = withoutSignature(kind === 'reply' ? withoutQuotes(own) : own, kind).join('\n')
  if (end === -1) return kept.trim() || text.trim()
  if (isForwardMark(lines, end)) return `${kept}\n${lines.slice(end).join('\n')}`.trim()
  return (ANSWERED_BELOW.test(kept) ? '' : kept.trim()) || text.trim()
}

/** As people say it whose client marks no quotes. */
const ANSWERED_BELOW =
  /\b(?:below|in-?line|in (?:red|blue|green|colou?r)|unten|in rot|ci-dessous|abajo|abaixo|qui sotto|hieronder)\b/i

const SIGNATURE = '-- '
/** A signature whose mark lost its space on the way is no longer than signatures are. */
const MAX_SIGNATURE = { lines: 6, length: 80 }
const MAX_DEVICE = 100
const MAX_BLOCK = 14

/** Where what was written anew ends: at a quote that goes to the end, or at what is forwarded; -1 where nothing follows. */
function endOfNew(lines: readonly string[]): number {
  const introductions = attributions(lines)
  return lines.findIndex((line, at) => {
    const introduction = introductions.get(at)
    if (!introduction) return isOriginalMark(line) || isHeaderBlock(lines, at) || isForwardMark(lines, at)
    const next = lines[indexOfFilled(lines, at + introduction.lines)]
    // Some clients do not mark what they quote; only what a machine wrote says that the rest is a quote.
    return next === undefined || (introduction.sure && !next.startsWith('>'))
  })
}

/** Without the lines that are marked, and those that say whose they are. */
function withoutQuotes(lines: readonly string[]): string[] {
  const isQuoted = (at: number) => lines[indexOfFilled(lines, at)]?.startsWith('>')
  // Some clients say within the quote whose it is.
  const all = [...attributions(lines.map((line) => line.replace(/^>+ ?/, '')))]
  const [start = lines.length] = all.find(([at, { lines: count }]) => isQuoted(at + count)) ?? []
  const kept = [...lines]
  for (const [at, { lines: count }] of attributions(lines)) {
    if (isQuoted(at + count)) kept.fill('>', at, at + count)
  }
  return kept.filter((line, at) => at < start || !line.startsWith('>'))
}

/** The line that clients put above the headers of what they forward, between dashes or with a colon, in any language. */
function isForwardMark(lines: readonly string[], at: number): boolean {
  const line = lines[at] ?? ''
  const isMark = betweenDashes(line) || (line.length < 80 && /[^:：\s]\s?[:：]$/.test(line))
  if (!isMark || isOriginalMark(line)) return false
  const next = indexOfFilled(lines, at + 1)
  const below = lines.slice(next, next + MAX_BLOCK).map((each) => each.replace(/^>+ ?/, ''))
  return headerFields(below, 0).size >= 3
}

function isOriginalMark(line: string): boolean {
  const words = betweenDashes(line)
  return words !== undefined && ORIGINAL_MESSAGE.some((each) => words.startsWith(each))
}

function betweenDashes(line: string): string | undefined {
  if (line.length > 80 || !(line.startsWith('--') || line.startsWith('##') || line.startsWith(' --')))
    return undefined
  return line
    .replaceAll(/[-#]{2,}/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replace(/^- /, '')
    .toLowerCase()
}

function withoutSignature(lines: string[], kind: 'reply' | 'first'): string[] {
  const start = signatureStart(lines, kind)
  const postscript = lines.findIndex((line, at) => at > start && /^p\.? ?s\b/i.test(line))
  const rest = postscript === -1 ? [] : lines.slice(postscript)
  const body = (start === -1 ? lines : [...lines.slice(0, start), ...rest]).map((line) => line.trimEnd())
  const last = body.findLastIndex((line) => line !== '')
  if (isDeviceSignature(body[last] ?? '')) return body.slice(0, isRule(body[last - 1]) ? last - 1 : last)
  // Outlook draws a line of underscores between a reply and what it quotes.
  return kind === 'reply' && isRule(body[last]) ? body.slice(0, last) : body
}

function signatureStart(lines: readonly string[], kind: 'reply' | 'first'): number {
  const first = lines.findIndex((line) => line !== '')
  const marked = lines.findIndex((line, at) => line === SIGNATURE && at > first)
  if (marked !== -1 || kind === 'first') return marked
  const dashes = lines.lastIndexOf('--')
  if (dashes <= first || lines.indexOf('--') !== dashes) return -1
  const rest = lines.slice(dashes + 1).filter((line) => line !== '')
  const isShort =
    rest.length <= MAX_SIGNATURE.lines && rest.every((line) => line.length <= MAX_SIGNATURE.length)
  return isShort ? dashes : -1
}

function isDeviceSignature(line: string): boolean {
  if (line.length > MAX_DEVICE) return false
  const text = line.trim().toLowerCase()
  return (
    DEVICE_STARTS.some((start) => text.startsWith(start)) && DEVICE_NAMES.some((name) => text.includes(name))
  )
}

function isRule(line: string | undefined): boolean {
  return line !== undefined && /^_{5,}$/.test(line)
}

function indexOfFilled(lines: readonly string[], from: number): number {
  let at = from
  while (at < lines.length && !lines[at]?.trim()) at++
  return at
}
