import { isClosing } from './answer-words.ts'

/** Maximum characters of HTML to examine. */
const MAX_HTML = 256 * 1024
const MAX_TAG = 2000
/**
 * Elements that clients use for quotes: Outlook, Gmail, Thunderbird, Apple Mail, Yahoo, Proton,
 * Tuta, Zoho.
 */
const QUOTE =
  /\bid\s*=\s*["']?(?:x_)*(?:divRplyFwdMsg|appendonsend|OLK_SRC_BODY_SECTION|mail-editor-reference-message-container|ms-outlook-mobile-reference-message|reply-intro|replySplit|isReplyContent)\b|\bclass\s*=\s*["']?[^"'>]{0,200}\b(?:gmail_quote|gmail_attr|yahoo_quoted|protonmail_quote|moz-cite-prefix|tutanota_quote|zmail_extra|ms-outlook-mobile-reference-message|ydp[a-z0-9]+yahoo_quoted)\b|\btype\s*=\s*["']?cite\b|border-top:\s*solid\s*#(?:E1E1E1|B5C4DF)/i
/** Those of Outlook, which also appear above earlier mails. */
const OUTLOOK = /divRplyFwdMsg|border-top:\s*solid\s*#(?:E1E1E1|B5C4DF)/i
const VOID = /^(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)$/
const COLOUR = /(?:^|[;"'\s])color\s*[:=]\s*["']?\s*([^;"'>]{1,60})/i
const HIGHLIGHT = /(?:mso-highlight|background(?:-color)?)\s*:\s*([^;"'>]{1,60})/i
/** Outlook uses this colour for all answers by default. */
const OUTLOOK_BLUE = '#1f497d'
const GREYS =
  /^(?:black|white|gr[ae]y|(?:dark|dim|light|slate|darkslate|lightslate)gr[ae]y|silver|gainsboro|whitesmoke|windowtext|inherit|initial|unset|auto|none|transparent|currentcolor|var\(.*)/
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
      const at = open.findLastIndex(({ name }, index) => name === token.name && index > open.length - 50)
      if (at !== -1) open.length = at
    } else {
      if (QUOTE.test(token.attributes)) isQuoted = true
      if (OUTLOOK.test(token.attributes) && ++blocks > 1) return false
      if (VOID.test(token.name) || open.length > 1000) continue
      const outer = open.at(-1)
      open.push({
        name: token.name,
        isColoured: isQuoted && (colourOf(token.attributes) ?? outer?.isColoured ?? false),
        isLink: token.name === 'a' || (outer?.isLink ?? false),
      })
    }
  }
  return false
}

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

/** True for a colour, false for black and grey, undefined without one. */
function colourOf(attributes: string): boolean | undefined {
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
  const hex = /^#?([0-9a-f]{3}|[0-9a-f]{6})$/.exec(colour)?.[1]
  const parts = hex
    ? hex.length === 3
      ? [...hex].map((digit) => Number.parseInt(digit + digit, 16))
      : (hex.match(/../g) ?? []).map((pair) => Number.parseInt(pair, 16))
    : colour.startsWith('rgb')
      ? (colour.match(/\d+/g) ?? []).slice(0, 3).map(Number)
      : undefined
  if (!parts) return /^[a-z]{3,20}$/.test(colour)
  return Math.max(...parts) - Math.min(...parts) >= MIN_CHROMA
}
