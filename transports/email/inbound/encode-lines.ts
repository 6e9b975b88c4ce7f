import { Readable } from 'node:stream'
import { Splitter, type SplitterChunk } from '@zone-eu/mailsplit'

/** postal-mime takes 10 µs and 2 KB for each line that is not encoded: 9 s and 1.7 GB for a million of them. */
const MANY_LINES = 20_000
const MAX_PARTS = 1000
const ENCODED = /base64|quoted-printable/

/**
 * The same mail in fewer lines: where it has very many, each body that is not encoded becomes base64. Throws where that
 * does not help: for over a thousand parts, and for thousands of lines between them.
 */
export async function encodeLines(raw: Uint8Array): Promise<Uint8Array> {
  if (countLines(raw) <= MANY_LINES) return raw
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  const splitter = new Splitter({ ignoreEmbedded: true, maxChildNodes: MAX_PARTS })
  const chunks: AsyncIterable<SplitterChunk> = Readable.from([bytes]).pipe(splitter)
  const pieces: Uint8Array[] = []
  let body: Uint8Array[] | undefined
  let between = 0
  const endBody = () => {
    if (body) pieces.push(Buffer.from(`${Buffer.concat(body).toString('base64')}\r\n`))
    body = undefined
  }
  for await (const chunk of chunks) {
    if (chunk.type === 'node') {
      endBody()
      if (!chunk.multipart && !ENCODED.test(String(chunk.encoding))) {
        if (chunk.headers) chunk.headers.update('Content-Transfer-Encoding', 'base64')
        body = []
      }
      pieces.push(chunk.getHeaders())
    } else if (chunk.type === 'data') {
      endBody()
      between += countLines(chunk.value)
      if (between > MANY_LINES) throw new Error(`It has over ${MANY_LINES} lines between its parts`)
      pieces.push(chunk.value)
    } else if (body) body.push(chunk.value)
    else pieces.push(chunk.value)
  }
  endBody()
  return Buffer.concat(pieces)
}

function countLines(bytes: Uint8Array): number {
  let count = 0
  for (let at = bytes.indexOf(10); at !== -1 && count <= MANY_LINES; at = bytes.indexOf(10, at + 1)) count++
  return count
}
