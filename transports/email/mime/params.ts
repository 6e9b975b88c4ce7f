import { decodeText } from './charset.ts'
import { decodeWords } from './words.ts'

/** A parsed header such as `text/plain; charset=utf-8`, with lower-case names. */
export type Structured = { value: string; params: ReadonlyMap<string, string> }

/**
 * The space before a known parameter, which may follow without a semicolon. Other words could
 * belong to a file name with spaces.
 */
const BEFORE_KNOWN =
  /\s(?=(?:charset|boundary|name|filename|format|delsp|method|type|protocol|micalg|report-type|smime-type|size|component)(?:\*\d*\*?)?\s*=)/i

/**
 * Parses a structured header (RFC 2045, RFC 2231), tolerating missing semicolons, encoded words
 * around everything, and unquoted names. The first of repeated parameters counts. Takes linear
 * time.
 */
export function parseStructured(header: string): Structured {
  const text = withoutComments(header.trimStart().startsWith('=?') ? decodeWords(header) : header)
  const [value = '', ...segments] = segmentsOf(text)
  const params = new Map<string, string>()
  for (const segment of segments) {
    const at = segment.indexOf('=')
    // The name is the last word: without a semicolon, other text precedes it.
    const name = (at === -1 ? segment : segment.slice(0, at)).trim().split(/\s+/).at(-1)?.toLowerCase() ?? ''
    if (name !== '' && !params.has(name)) params.set(name, at === -1 ? '' : unquoted(segment.slice(at + 1)))
  }
  return { value: value.replaceAll(/[\s"]+/g, '').toLowerCase(), params: withoutContinuations(params) }
}

/** Splits at semicolons outside quotes, or at spaces before a parameter name. */
function segmentsOf(text: string): string[] {
  const segments: string[] = []
  let start = 0
  let isQuoted = false
  const cut = (end: number) => {
    segments.push(text.slice(start, end))
    start = end + 1
  }
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (isQuoted && char === '\\') at++
    else if (char === '"') {
      isQuoted = !isQuoted
      // After a quoted value another parameter follows, with or without a semicolon.
      if (!isQuoted && /\s/.test(text[at + 1] ?? '')) cut(at + 1)
    } else if (char === ';' && !isQuoted) cut(at)
  }
  segments.push(text.slice(start))
  return segments.flatMap(splitAtKnown).filter((each, at) => at === 0 || each.trim() !== '')
}

/** Splits a segment before known parameters that follow without a semicolon, outside quotes. */
function splitAtKnown(segment: string): string[] {
  const quote = segment.indexOf('"')
  if (quote === -1) return segment.split(BEFORE_KNOWN)
  const pieces = segment.slice(0, quote).split(BEFORE_KNOWN)
  const last = pieces.pop() ?? ''
  return [...pieces, last + segment.slice(quote)]
}

function unquoted(text: string): string {
  const trimmed = text.trim()
  if (!trimmed.startsWith('"')) return trimmed
  // Only \" and \\ are escapes: programs that write paths do not escape backslashes.
  const [, quoted = ''] = /^"((?:\\["\\]|[^"])*)/.exec(trimmed) ?? []
  return quoted.replaceAll(/\\(["\\])/g, '$1')
}

/** Removes comments in parentheses, but not parentheses in file names. */
function withoutComments(text: string): string {
  if (!text.includes('(')) return text
  const kept: string[] = []
  let depth = 0
  let isQuoted = false
  let isValue = false
  let opened = 0
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? ''
    const escaped = char === '\\' ? (text[++at] ?? '') : ''
    if (depth > 0) {
      if (char === '(') depth++
      else if (char === ')') depth--
      continue
    }
    if (char === '"') isQuoted = !isQuoted
    const isPlain = !isQuoted && escaped === ''
    if (isPlain && char === '=') isValue = true
    if (isPlain && char === ';') isValue = false
    if (isPlain && char === '(' && (!isValue || isComment(text, at))) {
      depth = 1
      opened = at
    } else kept.push(char + escaped)
  }
  // If a comment is not closed, its parenthesis is text, unless no parameter follows.
  return depth === 0 || !text.slice(opened).includes(';') ? kept.join('') : text
}

const MAX_COMMENT = 200

/**
 * Whether parentheses in a value are a comment: at its end, as in `base64 (a comment)`, unlike
 * `file (1).pdf`.
 */
function isComment(text: string, at: number): boolean {
  return /[\s=]/.test(text[at - 1] ?? ' ') && !/^\([^()]*\)[^\s;]/.test(text.slice(at, at + MAX_COMMENT))
}

/** Decodes RFC 2231 parameters, and joins their continuations: `name*0`, `name*1*=utf-8''…`. */
function withoutContinuations(params: Map<string, string>): Map<string, string> {
  const whole = new Map<string, string>()
  const pieces = new Map<string, { index: number; isEncoded: boolean; value: string }[]>()
  for (const [name, value] of params) {
    const [, base, index = '0', star] = /^([^*]+)\*(\d{1,4})?(\*)?$/.exec(name) ?? []
    if (base === undefined) {
      whole.set(name, value)
      continue
    }
    const piece = { index: Number(index), isEncoded: star === '*' || name.endsWith('*'), value }
    const earlier = pieces.get(base)
    if (earlier) earlier.push(piece)
    else pieces.set(base, [piece])
  }
  for (const [base, list] of pieces) whole.set(base, joinPieces(list.sort((a, b) => a.index - b.index)))
  return whole
}

function joinPieces(pieces: readonly { isEncoded: boolean; value: string }[]): string {
  const [, charset = '', start] =
    (pieces[0]?.isEncoded && /^([^']*)'[^']*'(.*)$/s.exec(pieces[0].value)) || []
  const bytes = pieces.map(({ isEncoded, value }, at) => {
    const text = at === 0 && start !== undefined ? start : value
    return isEncoded ? percentBytes(text) : Buffer.from(text)
  })
  return decodeText(Buffer.concat(bytes), charset)
}

/** The bytes of a percent-encoded text. */
function percentBytes(text: string): Buffer {
  const binary = Buffer.from(text).toString('latin1')
  const decoded = binary.replaceAll(/%([\da-f]{2})/gi, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )
  return Buffer.from(decoded, 'latin1')
}
