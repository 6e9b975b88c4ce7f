import { decodeWords } from './words.ts'

/** Decodes the transfer encoding (RFC 2045, section 6). Takes linear time. */
export function decodeTransfer(body: Buffer, encoding: string): Buffer {
  const name = encoding.includes('=?') ? decodeWords(encoding) : encoding
  // First, because some headers name both.
  if (/quoted-printable/i.test(name)) return decodeQuotedPrintable(body)
  if (/base64/i.test(name)) return decodeBase64(body)
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

/** Decodes base64. Tolerates padding on each line. */
function decodeBase64(body: Buffer): Buffer {
  const text = body.toString('latin1').replaceAll(/[^a-z\d+/=]+/gi, '')
  const bytes = Buffer.alloc(text.length)
  let length = 0
  for (const [unit] of text.matchAll(/[^=]+/g)) length += bytes.write(unit, length, 'base64')
  return bytes.subarray(0, length)
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
