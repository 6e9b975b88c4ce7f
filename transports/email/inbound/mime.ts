import PostalMime, { type Email, type PostalMimeOptions } from 'postal-mime'

/** As much as the parser takes. */
export const MAX_HEAD = 256 * 1024
const OPTIONS: PostalMimeOptions = {
  maxNestingDepth: 64,
  maxHeadersSize: MAX_HEAD,
  // Forwarded messages stay whole, as attachments: their text is not what this sender wrote.
  forceRfc822Attachments: true,
}

/** Parses a mail (RFC 5322, MIME), some senders' mistakes included. Rejects where it cannot. */
export function parseMime(raw: Uint8Array): Promise<Email> {
  return new Parser(OPTIONS).parse(separated(raw))
}

/** What is looked at of a part; the library does not export its type. */
type Node = {
  parentNode?: { contentType: { multipart?: unknown } }
  contentType: { parsed: { value: string; params: Record<string, string> } }
  contentDisposition: { parsed: { value: unknown; params: Record<string, string> } }
  getTextContent(): string
}

/** Decides for itself what is text; the library calls this method, though it does not document it. */
class Parser extends PostalMime {
  private hasText = false

  isInlineTextNode(node: Node): boolean {
    const { parsed } = node.contentType
    const disposition = node.contentDisposition.parsed
    if (parsed.value === 'text') parsed.value = 'text/plain'
    if (!/^text\/(?:plain|html)$/.test(parsed.value) || disposition.value === 'attachment') return false
    // What has a name is a file, unless it is all that there is, or another form of the text.
    const isFile = disposition.params.filename !== undefined || parsed.params.name !== undefined
    if (isFile && this.hasText && node.parentNode?.contentType.multipart !== 'alternative') return false
    this.hasText = true
    if (/utf-?7$/i.test(parsed.params.charset ?? '')) {
      const text = fromUtf7(node.getTextContent())
      node.getTextContent = () => text
    }
    return true
  }
}

/** Some programs leave out the empty line behind the headers: then the body begins behind the last line that is one. */
function separated(raw: Uint8Array): Uint8Array {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  const [head = ''] = bytes.toString('latin1', 0, MAX_HEAD).split(/\n\r?\n/, 1)
  const lines = head.split('\n')
  let body = lines.findLastIndex((line) => /^[!-9;-~]+[ \t]*:/.test(line)) + 1
  if (body === 0) return raw
  while (/^[ \t]/.test(lines[body] ?? '')) body++
  if (lines.slice(body).join('').trim() === '') return raw
  const start = lines.slice(0, body).join('\n').length + 1
  return Buffer.concat([bytes.subarray(0, start), Buffer.from('\r\n'), bytes.subarray(start)])
}

/** UTF-7 (RFC 2152), which no platform decodes any more. */
function fromUtf7(text: string): string {
  const decoded = (code: string) => new TextDecoder('utf-16be').decode(Buffer.from(code, 'base64'))
  return text.replaceAll(/\+([a-z\d+/]*)-?/gi, (_, code: string) => decoded(code) || '+')
}
