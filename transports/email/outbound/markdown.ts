import { Marked } from 'marked'
import sanitizeHtml from 'sanitize-html'

const marked = new Marked({ gfm: true, breaks: true })

/** The styles that mail clients need inline, because they drop style sheets. */
const STYLES: Record<string, string> = {
  pre: 'background:#f6f8fa;padding:12px;overflow:auto;border-radius:6px',
  code: 'font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:90%',
  blockquote: 'margin:0 0 0 8px;padding-left:12px;border-left:3px solid #d0d7de;color:#57606a',
  table: 'border-collapse:collapse',
  th: 'border:1px solid #d0d7de;padding:4px 10px;text-align:left',
  td: 'border:1px solid #d0d7de;padding:4px 10px',
}

/**
 * Markdown as an HTML document for mail clients. What a skill repeats from a mail may be hostile, so only harmless
 * tags stay: no script, no form, no remote image that would tell when the mail is read.
 */
export function markdownToHtml(text: string): string {
  const body = sanitizeHtml(marked.parse(text, { async: false }), {
    allowedTags: [
      ...['p', 'br', 'hr', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'blockquote', 'pre', 'code'],
      ...[
        'strong',
        'em',
        'del',
        'b',
        'i',
        'u',
        's',
        'sub',
        'sup',
        'a',
        'table',
        'thead',
        'tbody',
        'tr',
        'th',
        'td',
      ],
    ],
    allowedAttributes: { a: ['href', 'title'], ol: ['start'], '*': ['style'] },
    allowedSchemes: ['http', 'https', 'mailto', 'tel'],
    parseStyleAttributes: false,
    transformTags: { '*': (tagName, attribs) => ({ tagName, attribs: styled(tagName, attribs) }) },
  })
  return `<!doctype html><html><head><meta charset="utf-8"></head><body style="font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:15px;line-height:1.5">${body}</body></html>`
}

/** Our own style in place of whatever was there. */
function styled(tagName: string, attribs: Record<string, string>): Record<string, string> {
  const { style: _style, ...rest } = attribs
  const style = STYLES[tagName]
  return style ? { ...rest, style } : rest
}
