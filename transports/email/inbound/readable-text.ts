import { convert } from 'html-to-text'
import { reasonOf } from '../../../src/core/errors.ts'

/** Of the HTML, as much is made into text; parsers take far more than linear time for hostile markup. */
const MAX_HTML = 128 * 1024

/** The text of an HTML body. Never throws. */
export function htmlToText(html: string): string {
  try {
    return convert(html.slice(0, MAX_HTML), {
      wordwrap: false,
      limits: { maxInputLength: MAX_HTML, maxDepth: 200, maxChildNodes: 20_000, ellipsis: '…' },
      selectors: [
        { selector: 'img', format: 'skip' },
        { selector: 'a', options: { hideLinkHrefIfSameAsText: true, ignoreHref: false } },
      ],
    })
  } catch (error) {
    return `(This HTML could not be read: ${reasonOf(error)})`
  }
}

/** Line ends as `\n`, no byte order mark and no NUL, which some stores cannot keep in text. */
export function plain(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll('\r', '\n')
    .replaceAll('\u0000', '')
    .replace(/^\ufeff/, '')
}
