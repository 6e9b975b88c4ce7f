import { decodeText } from './charset.ts'
import { decodeWords } from './words.ts'

/** A parsed header such as `text/plain; charset=utf-8`, with lower-case names. */
export type Structured = { value: string; params: ReadonlyMap<string, string> }

/** Parameters recognised without a semicolon, where other words could belong to a name with spaces. */
const KNOWN =
  /\s(?=(?:charset|boundary|name|filename|format|delsp|method|type|protocol|micalg|report-type|smime-type|size|component)(?:\*\d*\*?)?\s*=)/i

/**
 * Parses a structured header (RFC 2045, RFC 2231), tolerating missing semicolons, encoded words around everything, and unquoted names.
 * The first of repeated parameters counts. Takes linear time.
 */
export function parseStructured(header: string): Structured {
  const text = withoutComments(header.trimStart().startsWith('=?') ? decodeWords(header) : header)
  const [value = '', ...segments] = segmentsOf(text)
  const params = new Map<string, string>()
  for (const segment of segments) {
    const at = segment.indexOf('=')
    // Anything may precede a name without a semicolon.
    const name = (at === -1 ? segment : segment.slice(0, at)).trim().split(/\s+/).at(-1)?.toLowerCase() ?? ''
    if (name !== '' && !params.has(name)) params.set(name, at === -1 ? '' : unquoted(segment.slice(at + 1)))
  }
  return { value: value.replaceAll(/[\s"]+/g, '').toLowerCase(), params: joined(params) }
}

/** Splits at semicolons outside quotes, or at spaces before a parameter name. */
function segmentsOf(text: string): string[] {
  const found: string[] = []
  let start = 0
  let isQuoted = false
  const cut = (end: number) => {
    found.push(text.slice(start, end))
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
  found.push(text.slice(start))
  return found.flatMap(unseparated).filter((each, at) => at === 0 || each.trim() !== '')
}

function unseparated(segment: string): string[] {
  const quote = segment.indexOf('"')
  if (quote === -1) return segment.split(KNOWN)
  const pieces = segment.slice(0, quote).split(KNOWN)
  const last = pieces.pop() ?? ''
  return [...pieces, last + segment.slice(quote)]
}

function unquoted(text: string): string {
  const trimmed = text.trim()
  if (!trimmed.startsWith('"')) return trimmed
  // Programs that write paths do not escape backslashes.
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
  // An unclosed comment is not a comment, unless nothing follows.
  return depth === 0 || !text.slice(opened).includes(';') ? kept.join('') : text
}

/** Whether parentheses in a value are a comment: at its end, as in `base64 (a comment)`, unlike `file (1).pdf`. */
function isComment(text: string, at: number): boolean {
  return /[\s=]/.test(text[at - 1] ?? ' ') && !/^\([^()]*\)[^\s;]/.test(text.slice(at, at + 200))
}

/** Joins RFC 2231 continuations: `name*0`, `name*1*=utf-8''…`. */
function joined(params: Map<string, string>): Map<string, string> {
  const whole = new Map<string, string>()
  const pieces = new Map<string, { index: number; isEncoded: boolean; value: string }[]>()
  for (const [name, value] of params) {
    const [, base, index = '0', star] = /^([^*]+)\*(\d{1,4})?(\*)?$/.exec(name) ?? []
    if (base === undefined) {
      whole.set(name, value)
      continue
    }
    const piece = { index: Number(index), isEncoded: star === '*' || name.endsWith('*'), value }
    const some = pieces.get(base)
    if (some) some.push(piece)
    else pieces.set(base, [piece])
  }
  for (const [base, some] of pieces) whole.set(base, joinPieces(some.sort((a, b) => a.index - b.index)))
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

function percentBytes(text: string): Buffer {
  const binary = Buffer.from(text).toString('latin1')
  const decoded = binary.replaceAll(/%([\da-f]{2})/gi, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )
  return Buffer.from(decoded, 'latin1')
}
