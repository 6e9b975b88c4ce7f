import { isUtf8 } from 'node:buffer'
import { decodeText, isAsciiCompatible } from './charset.ts'
import { parseStructured } from './params.ts'

/** A header: lower-case name, unfolded value, with encoded words not decoded. */
export type Header = { key: string; value: string }

/** The first header with a (lower-case) name. */
export function header(of: { headers: readonly Header[] }, name: string): string | undefined {
  return of.headers.find((each) => each.key === name)?.value.trim()
}

/** Maximum bytes of all headers of a mail and its parts, without line ends. */
export const MAX_HEAD = 256 * 1024
/** Maximum bytes that are searched for headers, with line ends. */
const MAX_SCAN = 2 * MAX_HEAD
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const TAB = 0x09

const FIELD = /^[!-9;-~]+[ \t]*:/
const BLANK = /^[ \t]/

/**
 * Reads the headers of a message or part, and finds its body. Some programs omit the empty line
 * between them; then the body starts after the last header line. `body`: the offset of the body.
 * `size`: the bytes of the headers without line ends.
 */
export function readHead(raw: Buffer): { headers: Header[]; body: number; size: number } {
  const end = endOfHead(raw)
  // Latin-1, so that text offsets are byte offsets.
  const text = raw.toString('latin1', 0, Math.min(end.head, MAX_SCAN))
  const lines = text.split('\n')
  let count = lines.findLastIndex((line) => FIELD.test(line)) + 1
  while (count > 0 && BLANK.test(lines[count] ?? '')) count++
  const isSeparated = lines.slice(count).every((line) => line.trim() === '')
  const used = isSeparated ? lines : lines.slice(0, count)
  const body = isSeparated ? end.body : used.join('\n').length + (count > 0 ? 1 : 0)
  const size = used.reduce((sum, line) => sum + line.length - (line.endsWith('\r') ? 1 : 0), 0)
  return { headers: headersIn(used, () => charsetBelow(raw, end.head)), body, size }
}

/**
 * Finds the first empty line, ignoring carriage returns: the offsets of the end of the headers and
 * the start of the body.
 */
function endOfHead(raw: Buffer): { head: number; body: number } {
  for (let at = 0; at < raw.length; ) {
    const next = raw.indexOf(LF, at)
    const end = next === -1 ? raw.length : next
    let textEnd = end
    while (textEnd > at && raw[textEnd - 1] === CR) textEnd--
    if (textEnd === at) return { head: at, body: Math.min(end + 1, raw.length) }
    if (at > MAX_SCAN || next === -1) break
    at = end + 1
  }
  return { head: raw.length, body: raw.length }
}

function headersIn(lines: readonly string[], charsetOfParts: () => string): Header[] {
  const folded: string[][] = []
  for (const line of lines) {
    const bare = line.replace(/\r+$/, '')
    if (BLANK.test(bare) && folded.length > 0) folded.at(-1)?.push(bare)
    else if (bare !== '') folded.push([bare])
  }
  let charset: string | undefined
  return folded.map((pieces) => {
    const line = pieces.join('')
    const colon = line.indexOf(':')
    const key = trimBlanks(decodeName(colon === -1 ? line : line.slice(0, colon)))
    let value = colon === -1 ? '' : line.slice(colon + 1)
    if (HIGH.test(value) || value.includes(JAPANESE)) {
      charset ??= charsetOf(folded) || charsetOfParts()
      value = decodeText(Buffer.from(value, 'latin1'), '', charset || undefined)
    }
    return { key: key.toLowerCase(), value: trimBlanks(value.replaceAll(/[\r\n]+/g, ' ')) }
  })
}

const HIGH = /[\x80-\xff]/
/** Escape sequence of ISO-2022-JP, which uses ASCII bytes. */
const JAPANESE = '\u001b$'

/** Decodes a name, and keeps a byte order mark: without it, the name could match a known header. */
function decodeName(name: string): string {
  const bytes = Buffer.from(name, 'latin1')
  const isUnicode = HIGH.test(name) && isUtf8(bytes)
  return isUnicode ? new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes) : name
}

/**
 * The charset of the text, in which old programs write headers. Modern ones use UTF-8 (RFC 6532),
 * which `decodeText` recognises.
 */
function charsetOf(folded: readonly string[][]): string {
  const type = folded.find(([line]) => /^content-type[ \t]*:/i.test(line ?? ''))?.join('') ?? ''
  return compatible(parseStructured(type.slice(type.indexOf(':') + 1)).params.get('charset'))
}

/** The charset of the first part that names one, for a container without it. */
function charsetBelow(raw: Buffer, from: number): string {
  const text = raw.toString('latin1', from, from + MAX_PARTS_SCAN)
  return compatible(
    /^content-type[ \t]*:[^\n]{0,200}(?:\n[ \t][^\n]{0,200}){0,5}?charset="?([\w-]{2,40})/im.exec(text)?.[1],
  )
}

const MAX_PARTS_SCAN = 16_384

function compatible(charset = ''): string {
  return isAsciiCompatible(charset) ? charset : ''
}

/** Trims spaces and tabs only (RFC 5322): a name with other whitespace is a different name. */
function trimBlanks(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB
}
