import { isClosing } from './answer-words.ts'

/** Maximum characters of HTML to examine. */
const MAX_HTML = 256 * 1024
/** Maximum characters of a tag that are examined. */
const MAX_TAG = 2_000
const MAX_DEPTH = 1_000
/** A closing tag is matched only with this many of the innermost open elements. */
const MAX_UNCLOSED = 50
/**
 * Elements that clients use for quotes: Outlook, Gmail, Thunderbird, Apple Mail, Yahoo, Proton,
 * Tuta, Zoho.
 */
const QUOTE =
  /\bid\s*=\s*["']?(?:x_)*(?:divRplyFwdMsg|appendonsend|OLK_SRC_BODY_SECTION|mail-editor-reference-message-container|ms-outlook-mobile-reference-message|reply-intro|replySplit|isReplyContent)\b|\bclass\s*=\s*["']?[^"'>]{0,200}\b(?:gmail_quote|gmail_attr|yahoo_quoted|protonmail_quote|moz-cite-prefix|tutanota_quote|zmail_extra|ms-outlook-mobile-reference-message|ydp[a-z0-9]+yahoo_quoted)\b|\btype\s*=\s*["']?cite\b|border-top:\s*solid\s*#(?:E1E1E1|B5C4DF)/i
/** The ones of Outlook. They are also above the earlier mails in a quote. */
const OUTLOOK_QUOTE = /divRplyFwdMsg|border-top:\s*solid\s*#(?:E1E1E1|B5C4DF)/i
/** Elements without a closing tag. */
const VOID = /^(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)$/
const COLOUR = /(?:^|[;"'\s])color\s*[:=]\s*["']?\s*([^;"'>]{1,60})/i
const HIGHLIGHT = /(?:mso-highlight|background(?:-color)?)\s*:\s*([^;"'>]{1,60})/i
/** Outlook uses this colour for all answers by default. */
const OUTLOOK_BLUE = '#1f497d'
const GREYS =
  /^(?:black|white|gr[ae]y|(?:dark|dim|light|slate|darkslate|lightslate)gr[ae]y|silver|gainsboro|whitesmoke|windowtext|inherit|initial|unset|auto|none|transparent|currentcolor|var\(.*)/
/**
 * Minimum difference between the strongest and the weakest of red, green and blue (0 to 255); less
 * is grey.
 */
const MIN_CHROMA = 90

type Token = { text: string } | { name: string; closes: boolean; attributes: string; at: number }

/** The position of the first element with a quote. */
export function quoteStart(html: string): number | undefined {
  for (const token of tokens(html)) {
    if ('name' in token && !token.closes && QUOTE.test(token.attributes)) return token.at
  }
  return undefined
}

/**
 * Whether words in the quote have their own colour, before the signature of the quoted mail: people
 * mark answers this way in Outlook and Gmail.
 */
export function hasColouredAnswers(html: string): boolean {
  let isQuoted = false
  let blocks = 0
  const open: { name: string; isColoured: boolean; isLink: boolean }[] = []
  for (const token of tokens(html)) {
    if ('text' in token) {
      if (!isQuoted) continue
      const { isColoured, isLink } = open.at(-1) ?? {}
      if (isColoured && !isLink && /\p{L}/u.test(token.text)) return true
      if (isClosing(token.text.replaceAll(/&nbsp;|\s+/g, ' '))) return false
    } else if (token.closes) {
      const lowest = open.length - MAX_UNCLOSED
      const at = open.findLastIndex(({ name }, index) => name === token.name && index > lowest)
      if (at !== -1) open.length = at
    } else {
      if (QUOTE.test(token.attributes)) isQuoted = true
      if (OUTLOOK_QUOTE.test(token.attributes) && ++blocks > 1) return false
      if (VOID.test(token.name) || open.length > MAX_DEPTH) continue
      const outer = open.at(-1)
      open.push({
        name: token.name,
        isColoured: isQuoted && (hasVividColour(token.attributes) ?? outer?.isColoured ?? false),
        isLink: token.name === 'a' || (outer?.isLink ?? false),
      })
    }
  }
  return false
}

/**
 * The tags and the texts between them, without comments. `attributes` has the text of the tag, with
 * its name.
 */
function* tokens(html: string): Generator<Token> {
  const end = Math.min(html.length, MAX_HTML)
  let at = 0
  while (at < end) {
    const next = html.indexOf('<', at)
    if (next === -1) return
    if (next > at) yield { text: html.slice(at, next) }
    const isComment = html.startsWith('<!--', next)
    const close = html.indexOf(isComment ? '-->' : '>', next)
    if (close === -1) return
    const [, slash, name] = /^<(\/?)([a-z][a-z0-9:]*)/i.exec(html.slice(next, next + 50)) ?? []
    at = close + (isComment ? 3 : 1)
    if (!name) continue
    const attributes = html.slice(next + 1, Math.min(close, next + MAX_TAG))
    yield { name: name.toLowerCase(), closes: slash === '/', attributes, at: next }
    if (/^(?:style|script|title)$/i.test(name) && slash === '') {
      const over = html.indexOf('</', at)
      at = over === -1 ? end : over
    }
  }
}

/** True for a colour, false for black and grey, undefined if the element sets none. */
function hasVividColour(attributes: string): boolean | undefined {
  const highlight = HIGHLIGHT.exec(attributes)?.[1]
  if (highlight !== undefined && /^(?:span|font|mark)\b/i.test(attributes) && isVivid(highlight)) return true
  const colour = COLOUR.exec(attributes)?.[1]
  return colour === undefined ? undefined : isVivid(colour)
}

function isVivid(value: string): boolean {
  const colour = value
    .trim()
    .toLowerCase()
    .replace(/\s*!important$/, '')
  if (colour === OUTLOOK_BLUE || GREYS.test(colour)) return false
  const rgb = rgbOf(colour)
  if (!rgb) return /^[a-z]{3,20}$/.test(colour)
  return Math.max(...rgb) - Math.min(...rgb) >= MIN_CHROMA
}

/** Red, green and blue (0 to 255) of `#f00`, `#ff0000` or `rgb(255, 0, 0)`; undefined for names. */
function rgbOf(colour: string): number[] | undefined {
  if (colour.startsWith('rgb')) return (colour.match(/\d+/g) ?? []).slice(0, 3).map(Number)
  const hex = /^#?([0-9a-f]{3}|[0-9a-f]{6})$/.exec(colour)?.[1]
  if (!hex) return undefined
  const digits = hex.length === 3 ? hex.replaceAll(/./g, '$&$&') : hex
  return (digits.match(/../g) ?? []).map((pair) => Number.parseInt(pair, 16))
}
