import { decodeHTML } from 'entities/decode'
import { compile } from 'html-to-text'
import { reasonOf } from '../../../src/core/errors.ts'
import { withoutTags } from '../mime/one-line.ts'
import { visibleHtml } from './visible-html.ts'

/** Maximum characters of HTML to convert: parsers take much more than linear time for hostile markup. */
const MAX_HTML = 128 * 1024
const CUT_NOTICE = '(The rest has no formatting, because the HTML is too large.)'
/**
 * Private-use characters for the end of the converted part, and between cells, so that no text
 * contains them.
 */
const [STOPPED, CELL] = ['\ue0f0', '\ue0f1']
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
      builder.addInline(CELL)
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
    const shown = visibleHtml(html)
    const text = cellsApart(convert(shown.slice(0, MAX_HTML)))
    const isStopped = text.includes(STOPPED)
    if (!isStopped && shown.length <= MAX_HTML) return withoutTags(text)
    const rest = isStopped ? shown : shown.slice(MAX_HTML)
    const bare = decodeHTML(rest.replaceAll(/<[^<>]*>?|\s+/g, ' '))
    return withoutTags(`${text.replaceAll(STOPPED, '…').trimEnd()}\n\n${CUT_NOTICE}\n${bare}`)
  } catch (error) {
    return `(This HTML could not be read: ${reasonOf(error)})`
  }
}

/** Layouts use tables too, so most cells are empty or single. */
function cellsApart(text: string): string {
  const lines = text.split('\n').map((line) => {
    if (!line.includes(CELL)) return line
    const cells = line.split(CELL).map((cell) => cell.trimEnd())
    return cells.filter((cell) => cell.trim() !== '').join('\t')
  })
  return lines.join('\n')
}

/**
 * Normalises line ends to `\n`; removes byte order marks, NUL, which some stores cannot keep in
 * text, and invisible characters.
 */
export function plain(text: string): string {
  return withoutTags(text)
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll('\u0000', '')
    .replace(/^\ufeff/, '')
}
