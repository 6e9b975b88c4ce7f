import { decodeHTMLStrict } from 'entities'
import { Marked, type RendererObject, type Token, type Tokens } from 'marked'
import sanitizeHtml from 'sanitize-html'

/** Wider columns of a table are not aligned; a screen is not wider either. */
const MAX_COLUMN = 60
const CODE_INDENT = '    '
const SHOWN_SCHEMES = /^(https?|mailto|tel):/i

/** A block ends with an empty line, a text within a line with nothing. */
const renderer: RendererObject<string, string> = {
  space: () => '',
  hr: () => block('* * *'),
  code: ({ text }) => block(indent(text, CODE_INDENT, CODE_INDENT)),
  html: ({ text, block: isBlock }) => (isBlock ? block(withoutTags(text).trim()) : withoutTags(text)),
  def: () => '',
  heading({ tokens }) {
    return block(this.parser.parseInline(tokens))
  },
  paragraph({ tokens }) {
    return block(this.parser.parseInline(tokens))
  },
  blockquote({ tokens }) {
    return block(indent(this.parser.parse(tokens).trim(), '> ', '> '))
  },
  list(list) {
    const items = list.items.map((item, at) => {
      const marker = list.ordered ? `${Number(list.start || 1) + at}. ` : '- '
      const [first, ...rest] = item.tokens
      const box = first?.type === 'checkbox' ? this.parser.parse([first]) : ''
      const blocks = (box ? rest : item.tokens).map((token) => this.parser.parse([token]).trim())
      const gap = item.loose ? '\n\n' : '\n'
      return indent(box + blocks.filter(Boolean).join(gap), marker, ' '.repeat(marker.length))
    })
    return block(items.join(list.loose ? '\n\n' : '\n'))
  },
  checkbox: ({ checked }) => (checked ? '[x] ' : '[ ] '),
  table({ header, rows, align }) {
    const cells = (row: Tokens.TableCell[]) => row.map(({ tokens }) => this.parser.parseInline(tokens))
    return block(aligned(cells(header), rows.map(cells), align))
  },
  strong({ tokens }) {
    return this.parser.parseInline(tokens)
  },
  em({ tokens }) {
    return this.parser.parseInline(tokens)
  },
  del({ tokens }) {
    // Without its marks it would say the opposite.
    return `~~${this.parser.parseInline(tokens)}~~`
  },
  codespan: ({ text }) => text,
  br: () => '\n',
  link({ href, text, tokens, autolink }) {
    const label = autolink ? text : this.parser.parseInline(tokens)
    const address = href.replace(/^mailto:/i, '')
    if (!SHOWN_SCHEMES.test(href) || label === href || label === address) return label
    return label.trim() ? `${label} (${address})` : address
  },
  image: ({ text }) => text,
  text(token) {
    if ('tokens' in token && token.tokens) return this.parser.parseInline(token.tokens)
    return token.type === 'escape' ? token.text : decodeHTMLStrict(token.text)
  },
}

const marked = new Marked({ renderer })

/**
 * Markdown, as the lexer read it, as the plain text that a person would have typed: no marks, links with their
 * address behind them, lists, quotes, code and tables as they are drawn in mails.
 */
export function tokensToText(tokens: Token[]): string {
  return marked.parser(tokens).trim()
}

function block(text: string): string {
  return text && `${text}\n\n`
}

/** `first` before the first line, `rest` before the others; none has spaces at its end. */
function indent(text: string, first: string, rest: string): string {
  return text
    .split('\n')
    .map((line, at) => `${at === 0 ? first : rest}${line}`.trimEnd())
    .join('\n')
}

const ELEMENTS = new Set([
  ...sanitizeHtml.defaults.allowedTags,
  'img',
  'del',
  'ins',
  'details',
  'summary',
  'font',
])
const HIDDEN = /<(?:[!?]|(?:script|style|textarea|option|title|iframe)\b)/i

/** HTML without its elements. What looks like a tag and is none, such as `<name>`, was meant to be read. */
function withoutTags(html: string): string {
  if (HIDDEN.test(html)) {
    return decodeHTMLStrict(sanitizeHtml(html, { allowedTags: [], allowedAttributes: {} }))
  }
  return html
    .replaceAll(/<br\s*\/?>\n?/gi, '\n')
    .replaceAll(/<\/?([a-z][a-z\d-]*)(?=[\s/>])[^<>]*>/gi, (tag, name: string) =>
      ELEMENTS.has(name.toLowerCase()) ? '' : tag,
    )
}

function aligned(header: string[], rows: string[][], align: Tokens.Table['align']): string {
  const widths = header.map((_, column) =>
    Math.min(MAX_COLUMN, Math.max(...[header, ...rows].map((row) => (row[column] ?? '').length))),
  )
  const line = (cells: string[]) =>
    cells
      .map((cell, at) =>
        align[at] === 'right' ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0),
      )
      .join('  ')
      .trimEnd()
  return [line(header), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}
