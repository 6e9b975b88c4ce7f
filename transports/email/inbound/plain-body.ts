import { isAscii } from 'node:buffer'

/** How the bytes of a text travel (RFC 2045, section 6). */
export type BodyEncoding = 'as-is' | 'quoted-printable' | 'base64'

/** The encoding that a Content-Transfer-Encoding header names plainly; undefined for any other. */
export function encodingOf(value = '8bit'): BodyEncoding | undefined {
  const name = value.toLowerCase()
  if (name === 'quoted-printable' || name === 'base64') return name
  return name === '7bit' || name === '8bit' || name === 'binary' ? 'as-is' : undefined
}

/**
 * The text of a body in a common charset, with line ends as `\n`. Undefined for what is not well-formed, or not
 * common.
 */
export function decodeBody(
  bytes: Buffer,
  encoding: BodyEncoding,
  params: ReadonlyMap<string, string>,
): string | undefined {
  const decoder = decoderFor(params.get('charset'))
  if (!decoder) return undefined
  const decode = (each: Buffer) => (isAscii(each) ? each.toString('latin1') : decoder.decode(each))
  const text = encoding === 'as-is' ? unixLines(bytes, decode) : decodeWith(DECODERS[encoding], bytes, decode)
  const isFlowed = params.get('format')?.toLowerCase() === 'flowed'
  if (text === undefined || !isFlowed) return text
  return unflow(text, params.get('delsp')?.toLowerCase() === 'yes')
}

/** Charsets in which a line end is a line end, whatever stands before it. */
const COMMON = /^(utf-?8|(us-)?ascii|iso-8859-([1-9]|1[03-6])|windows-125[0-8]|koi8-[ru])$/
const decoders = new Map<string, TextDecoder>()

function decoderFor(charset = 'utf-8'): TextDecoder | undefined {
  const name = charset.trim().toLowerCase()
  if (!COMMON.test(name)) return undefined
  const decoder = decoders.get(name) ?? new TextDecoder(name)
  decoders.set(name, decoder)
  return decoder
}

const [LF, CR, EQUALS] = [0x0a, 0x0d, 0x3d]
const DECODERS = { 'quoted-printable': quotedPrintable, base64 }

function decodeWith(
  undo: (bytes: Buffer) => Buffer | undefined,
  bytes: Buffer,
  decode: (bytes: Buffer) => string,
): string | undefined {
  const plain = undo(bytes)
  return plain && decode(plain)
}

/** Every line ends, also the last one. */
function unixLines(bytes: Buffer, decode: (bytes: Buffer) => string): string | undefined {
  const lines = decode(bytes).replaceAll('\r\n', '\n')
  if (lines.includes('\r')) return undefined
  return bytes.length === 0 || bytes.at(-1) === LF ? lines : `${lines}\n`
}

function quotedPrintable(bytes: Buffer): Buffer | undefined {
  const out = Buffer.allocUnsafe(bytes.length + 1)
  let length = 0
  let at = 0
  while (at < bytes.length) {
    const mark = bytes.indexOf(EQUALS, at)
    const end = mark === -1 ? bytes.length : mark
    for (; at < end; at++) {
      const byte = bytes[at] ?? 0
      if (byte !== CR) out[length++] = byte
      else if (bytes[at + 1] !== LF) return undefined
    }
    if (mark === -1) break
    const skipped = lineEnd(bytes, at + 1)
    if (skipped > 0) {
      at += 1 + skipped
      // A text that breaks off ends without a line end.
      if (at >= bytes.length) return out.subarray(0, length)
      continue
    }
    const value = 16 * hexDigit(bytes[at + 1]) + hexDigit(bytes[at + 2])
    out[length++] = value >= 0 ? value : EQUALS
    at += value >= 0 ? 3 : 1
  }
  if (bytes.length > 0 && bytes.at(-1) !== LF) out[length++] = LF
  return out.subarray(0, length)
}

/** How many bytes a line end takes here; the end of everything counts as one. 0 where there is none. */
function lineEnd(bytes: Buffer, at: number): number {
  if (at >= bytes.length || bytes[at] === LF) return 1
  return bytes[at] === CR && bytes[at + 1] === LF ? 2 : 0
}

/** The value of a hex digit; far below zero for anything else. */
function hexDigit(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1000
}

function base64(bytes: Buffer): Buffer | undefined {
  const text = bytes.toString('latin1')
  return /^[A-Za-z0-9+/\r\n]*={0,2}[\r\n]*$/.test(text) ? Buffer.from(text, 'base64') : undefined
}

/** Joins the lines of a paragraph again (format=flowed, RFC 3676), as postal-mime does. */
function unflow(text: string, delSp: boolean): string {
  if (!text.includes(' \n') && !text.includes('\n ') && !text.startsWith(' ') && !text.includes('\r'))
    return text
  // Pieces, none of them empty; from `start` on they are the present paragraph, which has `length` characters.
  const pieces: string[] = []
  let start = 0
  let length = 0
  for (const [index, stuffed] of text.split(/\r?\n/).entries()) {
    const line = stuffed.startsWith(' ') ? stuffed.slice(1) : stuffed
    const last = pieces.at(-1) ?? ''
    const isSignature = length === 3 && pieces.slice(start).join('') === '-- '
    const isSoft = last.endsWith(' ') && !isSignature
    if (isSoft && delSp) {
      if (last.length > 1) pieces[pieces.length - 1] = last.slice(0, -1)
      else pieces.pop()
      length--
    } else if (index > 0 && !isSoft) {
      start = pieces.push('\n')
      length = 0
    }
    if (line !== '') pieces.push(line)
    length += line.length
  }
  return pieces.join('')
}
