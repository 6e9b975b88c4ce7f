import { codePageDecoder } from './code-page.ts'

/** Groups within groups; a person's text has a dozen. */
const MAX_DEPTH = 1000

/** What a group hands on to the groups in it. */
type Group = {
  /** Nothing in it is text: tables of fonts, pictures, instructions of fields. */
  skipped: boolean
  /** In HTML: stands there only for those who read the RTF. */
  rtfOnly: boolean
  /** How many characters after a `\u` stand for it where nobody knows Unicode. */
  fallback: number
  codePage: number | undefined
}

/**
 * The text of an RTF document (version 1.9.1), or the HTML that it was made of ([MS-OXRTFEX], `\fromhtml1`).
 * Undefined for what is no RTF, or is nested too deeply. Never throws; takes time in proportion to the input.
 */
export function readRtf(bytes: Buffer): { text: string } | { html: string } | undefined {
  const rtf = bytes.toString('latin1')
  if (!rtf.startsWith('{\\rtf')) return undefined
  const isHtml = /\\fromhtml1\b/.test(rtf.slice(0, 500))
  const body = bodyOf(rtf, isHtml)
  if (body === undefined) return undefined
  return isHtml ? { html: body } : { text: body }
}

const CONTROL = /\\(?:([A-Za-z]{1,32})(-?\d{1,10})? ?|'([0-9A-Fa-f]{2})|([\s\S]))/y
const PLAIN = /[^\\{}\r\n]+/y

function bodyOf(rtf: string, isHtml: boolean): string | undefined {
  const out = textCollector()
  const codePages = new Map<number, number>()
  const outer: Group[] = []
  let group: Group = { skipped: false, rtfOnly: false, fallback: 1, codePage: undefined }
  let documentCodePage: number | undefined
  /** Characters still to be passed over, which stand for the one before them. */
  let pass = 0
  /** The font that the table of fonts describes just now. */
  let font = 0

  const write = (text: string) => {
    if (pass > 0) pass--
    else if (!group.skipped && !group.rtfOnly) out.text(text)
  }
  const writeBytes = (bytes: string) => {
    const rest = bytes.slice(pass)
    pass = Math.max(0, pass - bytes.length)
    if (rest && !group.skipped && !group.rtfOnly) out.bytes(rest, group.codePage ?? documentCodePage)
  }
  const obey = (word: string, value: number | undefined) => {
    if (word === 'ansicpg') documentCodePage = value
    else if (word === 'uc') group.fallback = Math.min(Math.max(value ?? 1, 0), 100)
    else if (word === 'u') {
      if (!group.skipped && !group.rtfOnly) out.text(String.fromCharCode((value ?? 0) & 0xffff))
      pass = group.fallback
    } else if (word === 'f') {
      font = value ?? 0
      group.codePage = codePages.get(font)
    } else if (word === 'fcharset') {
      const codePage = CHARSETS.get(value ?? 0)
      if (codePage !== undefined) codePages.set(font, codePage)
    } else if (word === 'htmlrtf') group.rtfOnly = isHtml && value !== 0
    else if (word === 'htmltag') group.skipped = !isHtml || (outer.at(-1)?.skipped ?? false)
    else if (SKIPPED.has(word)) group.skipped = true
    else {
      const text = SYMBOLS.get(word)
      if (text !== undefined) write(text)
    }
  }

  for (let at = 0; at < rtf.length; ) {
    const char = rtf[at]
    if (char === '{') {
      if (outer.length >= MAX_DEPTH) return undefined
      outer.push(group)
      group = { ...group }
      at++
    } else if (char === '}') {
      group = outer.pop() ?? group
      pass = 0
      at++
      if (outer.length === 0) break
    } else if (char === '\\') {
      CONTROL.lastIndex = at
      const [whole, word, value, hex, symbol] = CONTROL.exec(rtf) ?? ['\\']
      at += whole.length
      // Raw bytes follow, which are no RTF.
      if (word === 'bin') at += Math.max(0, Number(value ?? 0))
      else if (word) obey(word, value === undefined ? undefined : Number(value))
      else if (hex) writeBytes(String.fromCharCode(Number.parseInt(hex, 16)))
      // A destination that may be passed over by those who do not know it; `\htmltag` takes that back.
      else if (symbol === '*') group.skipped = true
      else if (symbol) write(ESCAPED.get(symbol) ?? '')
    } else if (char === '\r' || char === '\n') at++
    else {
      PLAIN.lastIndex = at
      const [text] = PLAIN.exec(rtf) ?? [char ?? '']
      writeBytes(text)
      at += text.length
    }
  }
  return out.end()
}

/** Joins texts and bytes; a character of several bytes may come in pieces. */
function textCollector() {
  const pieces: string[] = []
  const bytes: string[] = []
  let codePage: number | undefined
  const flush = () => {
    if (bytes.length === 0) return
    pieces.push(codePageDecoder(codePage).decode(Buffer.from(bytes.join(''), 'latin1')))
    bytes.length = 0
  }
  return {
    text(text: string) {
      flush()
      pieces.push(text)
    },
    bytes(more: string, of: number | undefined) {
      if (of !== codePage) flush()
      codePage = of
      bytes.push(more)
    },
    end() {
      flush()
      return pieces.join('')
    },
  }
}

/** Destinations whose content is no text of the document. */
const SKIPPED: ReadonlySet<string> = new Set(
  (
    'fonttbl colortbl stylesheet info pict objdata header headerl headerr headerf footer footerl footerr ' +
    'footerf fldinst listtable listoverridetable rsidtbl generator themedata colorschememapping datastore ' +
    'latentstyles xmlnstbl nonshppict bkmkstart bkmkend filetbl revtbl ftnsep aftnsep mhtmltag'
  ).split(' '),
)

const SYMBOLS: ReadonlyMap<string, string> = new Map([
  ['par', '\n'],
  ['line', '\n'],
  ['sect', '\n'],
  ['page', '\n'],
  ['row', '\n'],
  ['cell', '\t'],
  ['tab', '\t'],
  ['emdash', '—'],
  ['endash', '–'],
  ['emspace', ' '],
  ['enspace', ' '],
  ['lquote', '‘'],
  ['rquote', '’'],
  ['ldblquote', '“'],
  ['rdblquote', '”'],
  ['bullet', '•'],
])

/** Behind a backslash: characters that would mean something, a hard blank, a hard hyphen, a line end. */
const ESCAPED: ReadonlyMap<string, string> = new Map([
  ['\\', '\\'],
  ['{', '{'],
  ['}', '}'],
  ['~', '\u00a0'],
  ['_', '-'],
  ['\r', '\n'],
  ['\n', '\n'],
])

/** The code pages of `\fcharset`. */
const CHARSETS: ReadonlyMap<number, number> = new Map([
  [0, 1252],
  [77, 10000],
  [128, 932],
  [129, 949],
  [134, 936],
  [136, 950],
  [161, 1253],
  [162, 1254],
  [163, 1258],
  [177, 1255],
  [178, 1256],
  [186, 1257],
  [204, 1251],
  [222, 874],
  [238, 1250],
])
