import { decodeWords } from './words.ts'

/** Decodes the transfer encoding (RFC 2045, section 6) of a text or a file. Takes linear time. */
export function decodeTransfer(body: Buffer, encoding: string, isText = false): Buffer {
  const name = encoding.includes('=?') ? decodeWords(encoding) : encoding
  // First, because some headers name both.
  if (/quoted[-_\s]?printable/i.test(name)) return decodeQuotedPrintable(body)
  if (/base64/i.test(name)) return decodeBase64(body, isText)
  return /^\s*(?:x-)?uu(?:e|encode)\b/i.test(name) ? decodeUu(body) : body
}

/** Decodes uuencode, which old programs use. Lines around the content are ignored. */
function decodeUu(body: Buffer): Buffer {
  const text = body.toString('latin1')
  const begin = /^begin [0-7]{3,4} [^\n]*\n/m.exec(text)
  if (!begin) return body
  const decoded: Buffer[] = []
  for (const line of text.slice(begin.index + begin[0].length).split(/\r?\n/)) {
    const length = (line.charCodeAt(0) - 32) & 63
    if (line === '' || line === 'end' || length === 0) break
    decoded.push(uuLine(line.slice(1), length))
  }
  return Buffer.concat(decoded)
}

/** The bytes of a line of uuencode: four characters of six bits are three bytes. */
function uuLine(line: string, length: number): Buffer {
  const bytes: number[] = []
  for (let at = 0; at < line.length; at += 4) {
    const [a = 0, b = 0, c = 0, d = 0] = Array.from(
      line.slice(at, at + 4),
      (char) => (char.charCodeAt(0) - 32) & 63,
    )
    bytes.push((a << 2) | (b >> 4), ((b & 15) << 4) | (c >> 2), ((c & 3) << 6) | d)
  }
  return Buffer.from(bytes.slice(0, length))
}

/**
 * Decodes base64. Tolerates padding on each line. Some programs write text under the label of
 * base64, and mailing lists append text to it: from its first line on, a text is kept as it is.
 */
function decodeBase64(body: Buffer, isText: boolean): Buffer {
  const end = isText ? startOfText(body) : body.length
  const text = body.toString('latin1', 0, end).replaceAll(/[^a-z\d+/=]+/gi, '')
  const bytes = Buffer.alloc(text.length)
  let length = 0
  for (const [unit] of text.matchAll(/[^=]+/g)) length += bytes.write(unit, length, 'base64')
  const decoded = bytes.subarray(0, length)
  if (end === body.length) return decoded
  return Buffer.concat([decoded, Buffer.from(length > 0 ? '\n' : ''), body.subarray(end)])
}

const SPACE = 0x20
const LF = 0x0a
/** Longer lines are no text (RFC 5322, section 2.1.1). */
const MAX_LINE = 1_000

/**
 * The offset of the first line with two words and a sign that base64 does not have; else the
 * length.
 */
function startOfText(body: Buffer): number {
  let start = 0
  for (let space = body.indexOf(SPACE); space !== -1; space = body.indexOf(SPACE, start)) {
    start = body.lastIndexOf(LF, space) + 1
    const next = body.indexOf(LF, space)
    const end = next === -1 ? body.length : next
    const line = end - start > MAX_LINE ? '' : body.toString('latin1', start, end)
    if (/[.,;:!?'"()@]/.test(line) && /[a-z]{2}/i.test(line) && /\S\s+\S/.test(line)) return start
    start = end
  }
  return body.length
}

/** Decodes quoted-printable. Trailing spaces of a line are removed. */
function decodeQuotedPrintable(body: Buffer): Buffer {
  const lines = body.toString('latin1').split('\n')
  const decoded = lines.map((line, at) => {
    const isLast = at === lines.length - 1
    const end = line.endsWith('\r') ? '\r\n' : '\n'
    const text = trimEnd(line)
    const isSoft = text.endsWith('=')
    const bytes = (isSoft ? text.slice(0, -1) : text).replaceAll(/=([\da-f]{2})/gi, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    )
    return isSoft || isLast ? bytes : bytes + end
  })
  return Buffer.from(decoded.join(''), 'latin1')
}

function trimEnd(line: string): string {
  let end = line.length
  while (end > 0 && ' \t\r'.includes(line[end - 1] ?? '.')) end--
  return line.slice(0, end)
}
