import { decodeHTMLStrict } from 'entities'
import { lexer, type MarkedToken, type Token, type Tokens } from 'marked'
import { escapeText } from './escape-text.ts'

/**
 * Markdown as Slack's markup (https://docs.slack.dev/messaging/formatting-message-text). Mentions of people and
 * channels (`<@U…>`, `<#C…>`) go through; `<!channel>` and its like do not, as nobody should be able to make a bot
 * wake a whole workspace.
 */
export function toMrkdwn(markdown: string): string {
  const { kept, text } = keepMentions(markdown)
  const converted = blocks(lexer(text, { gfm: true })).trim()
  if (kept.length === 0) return converted
  const inCode = kept.map(escapeText)
  // Inside a link there can be no mention, only what it says.
  const inLinks = kept.map((mention) => mention.replaceAll(/[<>]|\|.*/g, ''))
  return converted
    .split(CODE)
    .map((piece, index) =>
      index % 2 === 1
        ? restore(piece, inCode)
        : restore(
            piece.replaceAll(/<[^<>\n]*>/g, (link) => restore(link, inLinks)),
            kept,
          ),
    )
    .join('')
}

const CODE = /(```[\s\S]*?```|`[^`\n]*`)/

/** What starts and ends bold and its like for Slack: an end of a word, as far as ASCII knows it. */
const AT_WORD = /^[^\s!-/:-@[-`{-~]/
const AFTER_WORD = /[^\s!-/:-@[-`{-~]$/
const MARKED = new Set(['strong', 'em', 'del', 'codespan'])
const ZERO_WIDTH_SPACE = '\u200B'

/** Marks mentions with private-use characters, which markdown leaves alone. */
function keepMentions(markdown: string): { kept: string[]; text: string } {
  const kept: string[] = []
  const text = markdown
    .replaceAll(/[\uE000\uE001]/g, '')
    .replaceAll(
      /<(?:@[UWB]|#[CGD])[A-Z0-9]+(\|[^<>\n]*)?>/g,
      (mention) => `\uE000${kept.push(mention) - 1}\uE001`,
    )
  return { kept, text }
}

function restore(text: string, kept: string[]): string {
  return text.replaceAll(/\uE000(\d+)\uE001/g, (_, index: string) => kept[Number(index)] ?? '')
}

function blocks(tokens: readonly Token[]): string {
  return tokens
    .map((token) => block(token))
    .filter((text) => text !== '')
    .join('\n\n')
}

function block(token: Token): string {
  const known = token as MarkedToken
  switch (known.type) {
    case 'space':
    case 'def':
      return ''
    case 'heading':
      return `*${inline(withoutStrong(known.tokens))}*`
    case 'paragraph':
      return inline(known.tokens)
    case 'text':
      return known.tokens ? inline(known.tokens) : shownText(known.text)
    case 'code':
      return fenced(known.text)
    case 'blockquote':
      return blocks(known.tokens).replaceAll(/^/gm, '> ')
    case 'list':
      return list(known, 0)
    case 'table':
      return table(known)
    case 'hr':
      return '──────────'
    default:
      return escapeText(known.raw.trim())
  }
}

function list(token: Tokens.List, depth: number): string {
  const start = typeof token.start === 'number' ? token.start : 1
  return token.items
    .map((item, index) => {
      const bullet = token.ordered ? `${start + index}.` : depth === 0 ? '•' : '◦'
      const box = item.task ? (item.checked ? '☑ ' : '☐ ') : ''
      const lines = item.tokens
        .filter((each) => each.type !== 'checkbox')
        .map((each) => (each.type === 'list' ? list(each as Tokens.List, depth + 1) : block(each)))
        .filter((text) => text !== '')
      return `${'    '.repeat(depth)}${bullet} ${box}${lines.join('\n')}`
    })
    .join('\n')
}

/** Code that shows a fence must not end there. */
function fenced(code: string): string {
  const text = code.replaceAll(/`(?=``)/g, `\`${ZERO_WIDTH_SPACE}`)
  return `\`\`\`\n${escapeText(text)}\n\`\`\``
}

/** Slack has no tables; monospaced columns read as one. */
function table(token: Tokens.Table): string {
  const rows = [token.header, ...token.rows].map((row) => row.map((cell) => plain(cell.tokens, withAddress)))
  const widths = token.header.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)))
  const line = (row: string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  const [head = [], ...body] = rows
  const rule = widths.map((width) => '-'.repeat(width)).join('  ')
  return fenced([line(head), rule, ...body.map(line)].join('\n'))
}

/** Slack makes nothing bold in the middle of a word, and in many languages nothing stands between words. */
function inline(tokens: readonly Token[]): string {
  let text = ''
  let isMarked = false
  for (const token of tokens) {
    const wasMarked = isMarked
    const next = span(token)
    isMarked = MARKED.has(token.type)
    const touches =
      (isMarked && AFTER_WORD.test(text)) || (wasMarked && AT_WORD.test(next)) || (wasMarked && isMarked)
    text += touches ? `${ZERO_WIDTH_SPACE}${next}` : next
  }
  return text
}

function span(token: Token): string {
  const known = token as MarkedToken
  switch (known.type) {
    case 'strong':
      return `*${inline(known.tokens)}*`
    case 'em':
      return `_${inline(known.tokens)}_`
    case 'del':
      return `~${inline(known.tokens)}~`
    case 'codespan':
      return `\`${escapeText(known.text)}\``
    case 'br':
      return '\n'
    case 'link':
      return link(known.href, escapeText(plain(known.tokens)))
    case 'image':
      return link(known.href, shownText(known.text))
    case 'escape':
      return escapeText(known.text)
    case 'text':
      return known.tokens ? inline(known.tokens) : shownText(known.text)
    case 'html':
      return isBreak(known.raw) ? '\n' : escapeText(known.raw)
    default:
      return escapeText(known.raw)
  }
}

function link(address: string, label: string): string {
  const href = decodeHTMLStrict(address)
  if (!/^(https?|mailto):/i.test(href))
    return label === '' ? escapeText(href) : `${label} (${escapeText(href)})`
  const url = href
    .replaceAll('<', '%3C')
    .replaceAll('>', '%3E')
    .replaceAll('|', '%7C')
    .replaceAll('&', '&amp;')
  return label === '' || label === url ? `<${url}>` : `<${url}|${label.replaceAll('|', '¦')}>`
}

/** What is read, without marks, for places where Slack knows none; `linked` says how a link is read. */
function plain(tokens: readonly Token[], linked = labelOf): string {
  return tokens.map((token) => plainSpan(token, linked)).join('')
}

function plainSpan(token: Token, linked: typeof labelOf): string {
  const known = token as MarkedToken
  switch (known.type) {
    case 'link':
      return linked(plain(known.tokens), decodeHTMLStrict(known.href))
    case 'image':
      return linked(decodeHTMLStrict(known.text), decodeHTMLStrict(known.href))
    case 'codespan':
      return known.text
    case 'br':
      return ' '
    case 'html':
      return isBreak(known.raw) ? ' ' : known.raw
    default:
      if ('tokens' in token && token.tokens) return plain(token.tokens, linked)
      return decodeHTMLStrict('text' in token ? String(token.text) : token.raw)
  }
}

function labelOf(label: string, href: string): string {
  return label === '' ? href : label
}

function withAddress(label: string, href: string): string {
  return label === '' || label === href ? href : `${label} (${href})`
}

function withoutStrong(tokens: readonly Token[]): Token[] {
  return tokens.flatMap((token) =>
    token.type === 'strong' && token.tokens ? withoutStrong(token.tokens) : [token],
  )
}

/** Text as markdown means it: `&lt;` is one character there. */
function shownText(text: string): string {
  return escapeText(decodeHTMLStrict(text))
}

function isBreak(html: string): boolean {
  return /^<br\s*\/?>$/i.test(html.trim())
}
