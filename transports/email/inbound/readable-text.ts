import { decodeHTML } from 'entities/decode'
import { compile } from 'html-to-text'
import { reasonOf } from '../../../src/core/errors.ts'
import { withoutTags } from '../mime/one-line.ts'
import { visibleHtml } from './visible-html.ts'

/**
 * Maximum characters of HTML to convert: parsers take much more than linear time for hostile
 * markup.
 */
const MAX_HTML = 128 * 1024
const CUT_NOTICE = '(The rest has no formatting, because the HTML is too large.)'
/** Marks where the conversion stopped. A private-use character, which no text contains. */
const STOPPED = '\ue0f0'
/** Marks the end of a cell. */
const CELL_END = '\ue0f1'
/** Elements on lines of their own, which the library would join. */
const BLOCKS =
  'body table caption tr dl dt dd option legend fieldset summary details center address figure figcaption hr'

const convert = compile({
  wordwrap: false,
  // Browsers also show what follows the end of the body.
  baseElements: { selectors: [], returnDomByDefault: true },
  limits: { maxInputLength: MAX_HTML, maxDepth: 200, maxChildNodes: 20_000, ellipsis: STOPPED },
  formatters: {
    cell(element, walk, builder) {
      walk(element.children, builder)
      builder.addInline(CELL_END)
    },
  },
  selectors: [
    { selector: 'img', format: 'skip' },
    { selector: 'title', format: 'skip' },
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true, ignoreHref: false } },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
    ...BLOCKS.split(' ').map((selector) => ({
      selector,
      format: 'block',
      options: { leadingLineBreaks: 1, trailingLineBreaks: 1 },
    })),
    { selector: 'td', format: 'cell' },
    { selector: 'th', format: 'cell' },
  ],
})

/**
 * Converts an HTML body to the visible text, with tabs between cells. Text beyond the limit follows
 * on one line, so that routes still see it.
 */
export function htmlToText(html: string): string {
  try {
    const visible = visibleHtml(html)
    const text = withTabs(convert(visible.slice(0, MAX_HTML)))
    const isStopped = text.includes(STOPPED)
    if (!isStopped && visible.length <= MAX_HTML) return withoutTags(text)
    const rest = isStopped ? visible : visible.slice(MAX_HTML)
    const restText = decodeHTML(rest.replaceAll(/<[^<>]*>?|\s+/g, ' '))
    return withoutTags(`${text.replaceAll(STOPPED, '…').trimEnd()}\n\n${CUT_NOTICE}\n${restText}`)
  } catch (error) {
    return `(This HTML could not be read: ${reasonOf(error)})`
  }
}

/** Puts tabs between the cells of a row. Empty ones are left out: layouts use tables too. */
function withTabs(text: string): string {
  const lines = text.split('\n').map((line) => {
    if (!line.includes(CELL_END)) return line
    const cells = line.split(CELL_END).map((cell) => cell.trimEnd())
    return cells.filter((cell) => cell.trim() !== '').join('\t')
  })
  return lines.join('\n')
}

/**
 * Normalises line ends to `\n`. Removes a byte order mark, invisible characters, and NUL, which
 * some stores cannot keep in text.
 */
export function cleanText(text: string): string {
  return withoutTags(text)
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll('\u0000', '')
    .replace(/^\ufeff/, '')
}
