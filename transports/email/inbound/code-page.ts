/** Windows code pages ([MS-UCODEREF], section 2.2.1) that have another name among the charsets of the web. */
const NAMES: ReadonlyMap<number, string> = new Map([
  [866, 'ibm866'],
  [874, 'windows-874'],
  [932, 'shift_jis'],
  [936, 'gbk'],
  [949, 'euc-kr'],
  [950, 'big5'],
  [1200, 'utf-16le'],
  [1201, 'utf-16be'],
  [10000, 'macintosh'],
  [10007, 'x-mac-cyrillic'],
  [20866, 'koi8-r'],
  [20932, 'euc-jp'],
  [20936, 'gbk'],
  [21866, 'koi8-u'],
  [38598, 'iso-8859-8-i'],
  [50220, 'iso-2022-jp'],
  [50221, 'iso-2022-jp'],
  [50222, 'iso-2022-jp'],
  [51932, 'euc-jp'],
  [51936, 'gbk'],
  [51949, 'euc-kr'],
  [54936, 'gb18030'],
  [65001, 'utf-8'],
])

/**
 * A decoder for the text of a Windows code page; one that nobody knows is taken for Western European, which spoils
 * no ASCII. Never throws.
 */
export function codePageDecoder(codePage: number | undefined): TextDecoder {
  const charset = charsetOf(codePage ?? 1252)
  const decoder = decoders.get(charset) ?? new TextDecoder(charset)
  decoders.set(charset, decoder)
  return decoder
}

/** Making one takes longer than using it. */
const decoders = new Map<string, TextDecoder>()

function charsetOf(codePage: number): string {
  if (codePage >= 1250 && codePage <= 1258) return `windows-${codePage}`
  // Code pages 28591 to 28606 are ISO 8859, parts 1 to 16; there never was a part 12.
  const part = codePage - 28590
  if (part >= 1 && part <= 16 && part !== 12) return `iso-8859-${part}`
  return NAMES.get(codePage) ?? 'windows-1252'
}
