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
  return converted.replaceAll(/\uE000(\d+)\uE001/g, (_, index: string) => kept[Number(index)] ?? '')
}

/** Marks mentions with private-use characters, which markdown leaves alone. */
function keepMentions(markdown: string): { kept: string[]; text: string } {
  const kept: string[] = []
  const text = markdown
    .replaceAll(/[\uE000\uE001]/g, '')
    .replaceAll(/<[@#][A-Z0-9]{2,}(\|[^<>\n]*)?>/g, (mention) => `\uE000${kept.push(mention) - 1}\uE001`)
  return { kept, text }
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
      return `*${plain(known.tokens)}*`
    case 'paragraph':
      return inline(known.tokens)
    case 'text':
      return known.tokens ? inline(known.tokens) : escapeText(known.text)
    case 'code':
      return `\`\`\`\n${escapeText(known.text)}\n\`\`\``
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

/** Slack has no tables; monospaced columns read as one. */
function table(token: Tokens.Table): string {
  const rows = [token.header, ...token.rows].map((row) => row.map((cell) => plain(cell.tokens)))
  const widths = token.header.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)))
  const line = (row: string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  const [head = [], ...body] = rows
  const rule = widths.map((width) => '-'.repeat(width)).join('  ')
  return ['```', line(head), rule, ...body.map(line), '```'].join('\n')
}

function inline(tokens: readonly Token[]): string {
  return tokens.map(span).join('')
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
      return link(known.href, plain(known.tokens))
    case 'image':
      return link(known.href, escapeText(known.text))
    case 'escape':
      return escapeText(known.text)
    case 'text':
      return known.tokens ? inline(known.tokens) : escapeText(known.text)
    default:
      return escapeText(known.raw)
  }
}

function link(href: string, label: string): string {
  const url = href
    .replaceAll('<', '%3C')
    .replaceAll('>', '%3E')
    .replaceAll('|', '%7C')
    .replaceAll('&', '&amp;')
  if (!/^(https?|mailto):/i.test(href))
    return label === '' ? escapeText(href) : `${label} (${escapeText(href)})`
  return label === '' || label === url ? `<${url}>` : `<${url}|${label.replaceAll('|', '¦')}>`
}

/** Text without marks, for places where Slack knows none. */
function plain(tokens: readonly Token[]): string {
  return tokens
    .map((token) =>
      'tokens' in token && token.tokens
        ? plain(token.tokens)
        : escapeText('text' in token ? String(token.text) : token.raw),
    )
    .join('')
}
