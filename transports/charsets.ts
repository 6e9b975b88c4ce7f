import iconv from 'iconv-lite'

/** Labels of Korean and Traditional Chinese charsets, in lower case. */
const KOREAN =
  /^(?:euc-?kr|ks_?c_?5601(?:-19(?:87|89))?|korean|iso-ir-149|cseuckr|csksc56011987|(?:x-)?windows-949)$/
const TAIWANESE = /^(?:(?:cn-|x-x-)?big-?5(?:-hkscs)?|csbig5)$/

/**
 * Decodes Korean as code page 949 and Traditional Chinese as Big5-HKSCS, like browsers. Node's
 * TextDecoder lacks over 8,000 Korean syllables and all letters of Cantonese. Undefined for other
 * charsets. Invalid bytes become `\ufffd`.
 */
export function decodeAsBrowsers(bytes: Uint8Array, label: string): string | undefined {
  const name = label.toLowerCase()
  if (KOREAN.test(name)) return iconv.decode(Buffer.from(bytes), 'cp949')
  return TAIWANESE.test(name) ? iconv.decode(Buffer.from(bytes), 'big5-hkscs') : undefined
}
