import { decodeHTML } from 'entities/decode'

/** Maximum characters of a stub without its links. */
const MAX_STUB = 1_000
/** Maximum characters of a stub most of whose words are in the HTML. */
const MAX_COPY = 300
/** Maximum characters of a stub with its links. */
const MAX_WITH_LINKS = 20 * MAX_STUB
/** Maximum characters of HTML that are examined. */
const MAX_HTML = 256 * 1024
const LINK = /\b(?:https?:\/\/|www\.)\S+/gi
const MARKUP = /<!--.*?(?:-->|$)|<(style|script|title|head)(?=[\s>/]).*?(?:<\/\1[^>]{0,50}>?|$)|<[^<>]*>?/gis
/** The topic of stubs, in any language: HTML, or the browser. */
const TOPIC =
  /html|\bmime\b|\bbrowser\b|\bnavigat|\bexplorador|webbl[äa]sare|nettleser|selain|prohl[íi]že|przegl[ąa]dar|tarayıcı|ブラウザ|浏览器|瀏覽器|브라우저|браузер|web ?version|online ?version|webversion|onlineversion/i

/**
 * Whether the plain text of a mail is only a placeholder for its HTML, such as "Your client does
 * not support HTML": it is short, and the HTML differs or has far more text. Errors are harmless,
 * because both have the same content.
 */
export function isStub(plain: string, html: string): boolean {
  if (plain.length > MAX_WITH_LINKS) return false
  const text = plain.replaceAll(LINK, ' ').trim()
  if (text.length > MAX_STUB) return false
  const htmlWords = wordsOf(decodeHTML(html.slice(0, MAX_HTML).replaceAll(MARKUP, ' ')))
  const words = wordsOf(text)
  if (htmlWords.size === 0) return false
  if (words.size === 0) return text === '' || htmlWords.size > 1
  const common = [...words].filter((word) => htmlWords.has(word)).length
  const isAboutHtml = TOPIC.test(text)
  if (common < words.size / 2) return isAboutHtml || htmlWords.size >= words.size
  return isAboutHtml && text.length <= MAX_COPY && htmlWords.size >= 5 * words.size
}

function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu))
}
