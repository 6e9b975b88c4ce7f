import { escapeText } from 'entities/escape'
import { compile } from 'html-to-text'
import { Marked } from 'marked'
import sanitizeHtml from 'sanitize-html'

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) =>
      text.replaceAll(TAG, (tag, name: string) => (ELEMENTS.has(name.toLowerCase()) ? tag : escapeText(tag))),
    checkbox: ({ checked }) => (checked ? '[x] ' : '[ ] '),
    image: ({ text }) => escapeText(text),
  },
})
/** Tags. Those without a known element, such as `<name>`, are text. */
const TAG = /<\/?([a-z][a-z\d-]*)(?=[\s/>])[^<>]*>/gi
const allowedTags = [...sanitizeHtml.defaults.allowedTags, 'del']
const ELEMENTS = new Set([
  ...allowedTags,
  ...'img ins details summary font script style textarea option title iframe'.split(' '),
])

const toText = compile({
  wordwrap: false,
  formatters: {
    code(element, walk, builder, { leadingLineBreaks, trailingLineBreaks }) {
      builder.openBlock({ isPre: true, leadingLineBreaks })
      walk(element.children, builder)
      builder.closeBlock({
        trailingLineBreaks,
        blockTransform: (text) => text.trimEnd().replaceAll(/^(?=.)/gm, '    '),
      })
    },
  },
  selectors: [
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({
      selector,
      options: { uppercase: false, leadingLineBreaks: 2, trailingLineBreaks: 2 },
    })),
    { selector: 'a', options: { linkBrackets: ['(', ')'], hideLinkHrefIfSameAsText: true } },
    { selector: 'ul', options: { itemPrefix: '- ' } },
    // Without marks, struck-out text would mean the opposite.
    { selector: 'del', format: 'inlineSurround', options: { prefix: '~~', suffix: '~~' } },
    { selector: 'pre', format: 'code' },
    { selector: 'table', format: 'dataTable', options: { uppercaseHeaderCells: false, colSpacing: 2 } },
  ],
})

/** Inline styles, because mail clients drop style sheets. */
const STYLES: Record<string, string> = {
  pre: 'background:#f6f8fa;padding:12px;overflow:auto;border-radius:6px',
  code: 'font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:90%',
  blockquote: 'margin:0 0 0 8px;padding-left:12px;border-left:3px solid #d0d7de;color:#57606a',
  table: 'border-collapse:collapse',
  th: 'border:1px solid #d0d7de;padding:4px 10px;text-align:left',
  td: 'border:1px solid #d0d7de;padding:4px 10px',
}
/** The tags with a style. In sanitised HTML, each `<` starts a tag. */
const STYLED = new RegExp(`<(${Object.keys(STYLES).join('|')})\\b`, 'g')

/** Maximum characters of a text: the lexer can take minutes for a longer one. */
const MAX_MARKDOWN = 50_000
/** Maximum length of a run of spaces, for the same reason. */
const MAX_SPACES = 100
const TOO_MANY_SPACES = new RegExp(` {${MAX_SPACES + 1},}`, 'g')
/** Maximum depth of elements: each level of quotes and lists indents all its lines again. */
const MAX_NESTING = 100
/** Maximum number of emphasis marks, which the lexer pairs in quadratic time. */
const MAX_MARKS = 2_000
const MARKS = /\*+|_+|~+/g

/**
 * Renders Markdown for mail: as HTML, and as readable plain text. Text may be hostile, as skills
 * quote mails, so only harmless tags are kept: no scripts, forms or remote images (tracking). Text
 * that is too long, too deeply nested or has too many marks is not rendered as Markdown.
 */
export function renderMarkdown(markdown: string): { html: string; text: string } {
  const isTooMuch = markdown.length > MAX_MARKDOWN || (markdown.match(MARKS)?.length ?? 0) > MAX_MARKS
  if (isTooMuch) return unrendered(markdown)
  try {
    const limited = markdown.replaceAll(TOO_MANY_SPACES, ' '.repeat(MAX_SPACES))
    const parsed = marked.parse(limited, { async: false })
    const html = sanitizeHtml(parsed, {
      allowedTags,
      allowedAttributes: { a: ['href', 'title'], ol: ['start'] },
      nestingLimit: MAX_NESTING,
    })
    return {
      html: toDocument(html.replaceAll(STYLED, (tag, name: string) => `${tag} style="${STYLES[name]}"`)),
      text: toText(html).replaceAll(/ +$/gm, ''),
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    // `marked` recurses once per level of quotes and lists, without a limit.
    return unrendered(markdown)
  }
}

function unrendered(text: string) {
  return { html: toDocument(`<pre>${escapeText(text)}</pre>`), text }
}

function toDocument(body: string): string {
  return `<!doctype html><html><head><meta charset="utf-8"></head><body style="font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:15px;line-height:1.5">${body}</body></html>`
}
