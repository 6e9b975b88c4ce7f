import { decodeHTML } from 'entities/decode'

/** Maximum characters of a stub, without links. */
const MAX_STUB = 1000
const MAX_HTML = 256 * 1024
const LINK = /\b(?:https?:\/\/|www\.)\S+/gi
const MARKUP = /<!--.*?(?:-->|$)|<(style|script|title|head)(?=[\s>/]).*?(?:<\/\1[^>]{0,50}>?|$)|<[^<>]*>?/gis
/** The subject of stubs, in any language. */
const SUBJECT =
  /html|\bmime\b|\bbrowser\b|\bnavigat|\bexplorador|webbl[äa]sare|nettleser|selain|prohl[íi]že|przegl[ąa]dar|tarayıcı|ブラウザ|浏览器|瀏覽器|브라우저|браузер|web ?version|online ?version|webversion|onlineversion/i

/**
 * Whether the plain text of a mail is only a placeholder for its HTML, such as "Your client does
 * not support HTML": it is short, and the HTML differs or has far more text. Errors are harmless,
 * because both have the same content.
 */
export function isStub(plain: string, html: string): boolean {
  const said = plain.length > 20 * MAX_STUB ? undefined : plain.replaceAll(LINK, ' ').trim()
  if (said === undefined || said.length > MAX_STUB) return false
  const shown = wordsOf(decodeHTML(html.slice(0, MAX_HTML).replaceAll(MARKUP, ' ')))
  const words = wordsOf(said)
  if (shown.size === 0) return false
  if (words.size === 0) return said === '' || shown.size > 1
  const common = [...words].filter((word) => shown.has(word)).length
  const isAbout = SUBJECT.test(said)
  if (common < words.size / 2) return isAbout || shown.size >= words.size
  return isAbout && said.length <= 300 && shown.size >= 5 * words.size
}

function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu))
}
