import { decodeWords } from './words.ts'

/** Decodes the transfer encoding (RFC 2045, section 6). Takes linear time. */
export function decodeTransfer(body: Buffer, encoding: string): Buffer {
  const name = encoding.includes('=?') ? decodeWords(encoding) : encoding
  // Checked first, as some headers name both.
  if (/quoted-printable/i.test(name)) return decodeQuotedPrintable(body)
  return /base64/i.test(name) ? decodeBase64(body) : body
}

/** Tolerates padding on each line. */
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
    const isEnded = at < lines.length - 1
    const end = line.endsWith('\r') ? '\r\n' : '\n'
    const text = trimEnd(line)
    const isSoft = text.endsWith('=')
    const bytes = (isSoft ? text.slice(0, -1) : text).replaceAll(/=([\da-f]{2})/gi, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    )
    return isSoft || !isEnded ? bytes : bytes + end
  })
  return Buffer.from(decoded.join(''), 'latin1')
}

function trimEnd(line: string): string {
  let end = line.length
  while (end > 0 && ' \t\r'.includes(line[end - 1] ?? '.')) end--
  return line.slice(0, end)
}
