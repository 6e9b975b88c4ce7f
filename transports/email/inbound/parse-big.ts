import { randomBytes } from 'node:crypto'
import { PassThrough, type Readable, type Transform } from 'node:stream'
import { finished } from 'node:stream/promises'
import { type MimeNode, Splitter, type SplitterChunk } from '@zone-eu/mailsplit'
import type { Attachment } from '../../../src/core/message.ts'
import type { Artifacts } from '../../../src/core/transport.ts'
import { type Mail, type Part, parseMail } from './parse.ts'

/** What is kept of the text parts of a big mail, all together. */
const MAX_TEXT = 4 * 1024 * 1024

/**
 * Parses a mail that is too big for memory: the attachments stream to disk as they pass, and what is left, headers
 * and texts, is parsed like any other mail. Each attachment leaves a note in its place, with a random word that
 * no sender can know, by which its part is found again.
 */
export async function parseBigMail(source: Readable, artifacts: Artifacts, limit: number): Promise<Mail> {
  const secret = randomBytes(16).toString('hex')
  const saved: Attachment[] = []
  const skeleton: Buffer[] = []
  let text = 0
  let open: OpenPart | undefined

  const close = async () => {
    const part = open
    open = undefined
    if (part) saved.push(await part.end())
  }

  const splitter = source.pipe(new Splitter({ ignoreEmbedded: true }))
  source.once('error', (error) => splitter.destroy(error))
  for await (const chunk of chunks(splitter)) {
    if (chunk.type === 'node') {
      await close()
      if (isText(chunk)) skeleton.push(chunk.getHeaders())
      else {
        skeleton.push(noteFor(chunk, `${secret} ${saved.length}`))
        open = openPart(chunk, artifacts, limit)
      }
    } else if (chunk.type === 'body' && open) {
      await open.write(chunk.value)
    } else if (chunk.type === 'data' || text < MAX_TEXT) {
      if (chunk.type === 'body') text += chunk.value.length
      skeleton.push(chunk.value)
    }
  }
  await close()

  const mail = await parseMail(Buffer.concat(skeleton))
  const cut = text >= MAX_TEXT ? `Its text is over ${MAX_TEXT} bytes; the rest was left out.` : undefined
  return {
    ...mail,
    parts: mail.parts.map((part) => rejoin(part, secret, saved)),
    ...(cut ? { unreadable: cut } : {}),
  }
}

type OpenPart = { write(chunk: Buffer): Promise<void>; end(): Promise<Attachment> }

function openPart(node: MimeNode, artifacts: Artifacts, limit: number): OpenPart {
  const decoder: Transform | PassThrough = node.getDecoder()
  // A decoder of its own errors on broken encodings; what it made until then is kept.
  const body = decoder.pipe(new PassThrough())
  decoder.once('error', () => body.end())
  const saving = artifacts.save(
    node.filename || 'part',
    node.contentType || 'application/octet-stream',
    body,
    limit,
  )
  // Awaited at the end of the part; a failure before that must not count as unhandled.
  saving.catch(() => {})
  return {
    async write(chunk) {
      if (!decoder.destroyed && !decoder.write(chunk)) await Promise.race([drained(decoder), saving])
    },
    async end() {
      decoder.end()
      return saving
    },
  }
}

async function drained(stream: Transform): Promise<void> {
  const aborter = new AbortController()
  await Promise.race([
    new Promise<void>((resolve) => stream.once('drain', resolve)),
    finished(stream, { signal: aborter.signal }).catch(() => {}),
  ])
  aborter.abort()
}

async function* chunks(splitter: Splitter): AsyncGenerator<SplitterChunk> {
  for await (const chunk of splitter) yield chunk
}

/** True for what the skeleton keeps whole: containers and the texts themselves. */
function isText(node: MimeNode): boolean {
  if (node.multipart || node.disposition === 'attachment') return Boolean(node.multipart)
  return (!node.contentType || /^text\/(plain|html)$/.test(node.contentType)) && !node.filename
}

/** The headers of a part with a note for a body. */
function noteFor(node: MimeNode, note: string): Buffer {
  if (node.headers) node.headers.update('Content-Transfer-Encoding', '7bit')
  return Buffer.concat([node.getHeaders(), Buffer.from(`${note}\r\n`)])
}

function rejoin(part: Part, secret: string, saved: Attachment[]): Part {
  const note = part.content.length < 200 ? Buffer.from(part.content).toString('latin1') : ''
  const found = note.startsWith(secret) ? saved[Number(note.slice(secret.length))] : undefined
  return found ? { ...part, content: new Uint8Array(), saved: found } : part
}
