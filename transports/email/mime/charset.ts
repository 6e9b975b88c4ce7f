import { isAscii, isUtf8 } from 'node:buffer'
import iconv from 'iconv-lite'
import { decodeAsBrowsers } from '../../charsets.ts'

/** Labels without information about the charset. */
const UNKNOWN =
  /^(?:|(?:us-?)?ascii|ansi_x3\.4.*|iso-?646.*|iso-ir-6|cp367|unknown.*|x-unknown|x-user-defined|default|none|null|undefined|8bit|7bit|binary|auto|charset|user-defined)$/
/**
 * Single-byte charsets: text in them that is valid UTF-8 is mislabelled UTF-8, not a coincidence.
 */
const SINGLE_BYTE =
  /^(?:windows-?(?:125\d|874)|cp-?(?:125\d|4\d\d|8\d\d)|ibm-?\d+|dos-?\d+|iso[-_]?(?:ir-)?8859.*|latin-?\d+|l\d+|koi8.*|(?:x-)?mac.*|tis-?620|ansi)$/
/** Charsets that encode other letters with ASCII bytes. */
const SEVEN_BIT = /^(?:utf-?7|iso-2022-.*|cp5022\d|csiso2022.*|hz.*|utf-?16.*|utf-?32.*|ucs-?\d.*)$/
const ALIASES: Record<string, string> = {
  cp50220: 'iso-2022-jp',
  cp50221: 'iso-2022-jp',
  cp50222: 'iso-2022-jp',
  'iso-2022-jp-1': 'iso-2022-jp',
  'iso-2022-jp-2': 'iso-2022-jp',
  'iso-2022-jp-ms': 'iso-2022-jp',
  cp51932: 'euc-jp',
  'x-euc': 'euc-jp',
  ansi: 'windows-1252',
  'x-ms-cp932': 'shift_jis',
}
/** Escape sequences of ISO-2022-JP, which also appear in unlabelled mail. */
const JAPANESE = ['$@', '$B', '(J', '(I'].map((sequence) => `\u001b${sequence}`)
const FALLBACK = 'windows-1252'
/** Up to this many letters can be valid UTF-8 by chance. */
const MAX_CHANCE_LETTERS = 3

/**
 * Decodes bytes. `label` is the sender's charset, which is often missing, wrong or misspelt. UTF-8
 * is recognised under any label that would make it unreadable. If there is no usable label, 8-bit
 * bytes that are not UTF-8 are decoded as `fallback`.
 */
export function decodeText(bytes: Uint8Array, label = '', fallback = FALLBACK): string {
  const mark = markOf(bytes)
  if (mark) return decodeAs(mark, bytes) ?? ''
  const name = nameOf(label)
  if (isAscii(bytes)) {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
    const isJapanese = JAPANESE.some((each) => text.includes(each)) && !SEVEN_BIT.test(name)
    if (!isJapanese && !SEVEN_BIT.test(name)) return text
    return decodeAs(isJapanese ? 'iso-2022-jp' : name, bytes) ?? text
  }
  const isUnicode = isUtf8(bytes)
  if (isUnicode && isLabelWrong(name, bytes)) return utf8(bytes)
  // UTF-7 has no 8-bit bytes.
  const isUnknown = UNKNOWN.test(name) || name === 'utf-7'
  if (isUnknown && isMostlyUtf8(bytes)) return utf8(bytes)
  const charset = isUnknown ? fallback : name
  const text = decodeAs(charset, bytes) ?? (isUnicode ? utf8(bytes) : decodeAs(fallback, bytes))
  if (text === undefined) return utf8(bytes)
  if (!text.includes('\ufffd')) return text
  if (isUnicode) return utf8(bytes)
  // The label says UTF-8, but none of the letters is valid UTF-8.
  const isNotUtf8 = charset === 'utf-8' && !/[^\0-\x7f\ufffd]/.test(text)
  return isNotUtf8 ? (decodeAs(fallback === 'utf-8' ? FALLBACK : fallback, bytes) ?? text) : text
}

/** Whether ASCII bytes mean ASCII in a charset. */
export function isAsciiCompatible(label: string): boolean {
  const name = nameOf(label)
  return !UNKNOWN.test(name) && !SEVEN_BIT.test(name) && decodeAs(name, new Uint8Array()) !== undefined
}

/**
 * Whether the label of bytes that are valid UTF-8 is probably wrong. In a multi-byte charset, a few
 * letters can be valid by chance.
 */
function isLabelWrong(name: string, bytes: Uint8Array): boolean {
  if (UNKNOWN.test(name) || SINGLE_BYTE.test(name) || name === 'utf-7') return true
  return !/^(?:utf|ucs)/.test(name) && (utf8(bytes).match(/[^\0-\x7f]/g)?.length ?? 0) > MAX_CHANCE_LETTERS
}

/** Whether bytes are UTF-8 with a truncated letter or a few stray bytes. */
function isMostlyUtf8(bytes: Uint8Array): boolean {
  const text = utf8(bytes)
  const wrong = text.match(/\ufffd/g)?.length ?? 0
  const right = text.match(/[^\0-\x7f\ufffd]/g)?.length ?? 0
  return right > 4 * wrong
}

/** The charset of a byte order mark; undefined without one. */
function markOf([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8'
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined
}

/** Normalises labels such as `"UTF-8"`, `3Dutf-8`, `utf8; format=flowed`, `utf-8*en`. */
function nameOf(label: string): string {
  const [bare = ''] =
    /[^\s"'=;,*]+/.exec(
      label
        .slice(0, 100)
        .toLowerCase()
        .replace(/^[\s"'=]*3d"?/, ''),
    ) ?? []
  if (/^(?:x-)?utf-?8/.test(bare)) return 'utf-8'
  if (/utf-?7$/.test(bare)) return 'utf-7'
  return ALIASES[bare] ?? bare
}

function utf8(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}

/**
 * A 7-bit charset: between the marks, it has the bytes of an 8-bit charset without their high bits.
 */
type Shifts = { open: string; close: string; charset: string; ignored: string }
const HZ: Shifts = { open: '~{', close: '~}', charset: 'gbk', ignored: '~\n' }
const SHIFTS = new Map<string, Shifts>([
  ['hz-gb-2312', HZ],
  ['hz', HZ],
  ['iso-2022-kr', { open: '\x0e', close: '\x0f', charset: 'cp949', ignored: '\x1b$)C' }],
])

/** Decodes HZ (RFC 1843) and ISO-2022-KR (RFC 1557). */
function fromShifted(bytes: Uint8Array, { open, close, charset, ignored }: Shifts): string {
  const text = Buffer.from(bytes).toString('latin1').replaceAll(ignored, '')
  const [plain = '', ...shifted] = text.split(open)
  const decoded = shifted.map((piece) => {
    const [inside = '', ...rest] = piece.split(close)
    const high = Buffer.from(inside, 'latin1').map((byte) => (byte > 0x20 ? byte | 0x80 : byte))
    return (decodeAs(charset, high) ?? inside) + rest.join(close)
  })
  return [plain, ...decoded].join('')
}

const decoders = new Map<string, TextDecoder | undefined>()
const MAX_DECODERS = 200

/**
 * Decodes as browsers do, or with iconv-lite for UTF-7 and DOS code pages. Undefined for unknown
 * charsets.
 */
function decodeAs(name: string, bytes: Uint8Array): string | undefined {
  const shifts = SHIFTS.get(name)
  if (shifts) return fromShifted(bytes, shifts)
  const asBrowsers = decodeAsBrowsers(bytes, name)
  if (asBrowsers !== undefined) return asBrowsers
  const decoder = decoderOf(name)
  if (decoder) return decoder.decode(bytes)
  return iconv.encodingExists(name) ? iconv.decode(Buffer.from(bytes), name) : undefined
}

function decoderOf(name: string): TextDecoder | undefined {
  if (decoders.has(name)) return decoders.get(name)
  let decoder: TextDecoder | undefined
  try {
    // Without a byte order mark, `utf-16` is little-endian for Node and big-endian in RFC 2781;
    // iconv-lite detects it.
    decoder = name === 'utf-16' ? undefined : new TextDecoder(name)
  } catch {
    // Not supported by Node.
  }
  if (decoders.size < MAX_DECODERS) decoders.set(name, decoder)
  return decoder
}
