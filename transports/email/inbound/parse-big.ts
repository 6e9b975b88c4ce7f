import { randomBytes } from 'node:crypto'
import { PassThrough, type Readable, type Transform } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { finished } from 'node:stream/promises'
import { type MimeNode, Splitter, type SplitterChunk } from '@zone-eu/mailsplit'
import { reasonOf } from '../../../src/core/errors.ts'
import type { Attachment } from '../../../src/core/message.ts'
import type { Artifacts } from '../../../src/core/transport.ts'
import { headersOnly, type Mail, parseMail } from './parse.ts'
import type { Part } from './part.ts'
import { isWinmail, unpackWinmail } from './winmail.ts'

/** What is kept of the text parts of a big mail, all together. */
const MAX_TEXT = 256 * 1024
const HEAD = 65_536
/** postal-mime keeps each line of a part by itself, and takes many seconds for a million of them. */
const MAX_LINES = 20_000
/** As much fits into a mail of the default `max-size`. */
const MAX_WINMAIL = 40 * 1024 * 1024

/** True for a mail that must go through `parseBigMail`, though it fits into memory. */
export function hasTooManyLines(raw: Buffer): boolean {
  return raw.length > MAX_LINES && countLines(raw, MAX_LINES) > MAX_LINES
}

/**
 * Parses a mail that is too big for memory: the attachments stream to disk as they pass, and what is left, headers
 * and texts, is parsed like any other mail. Each attachment leaves a note in its place, with a random word that
 * no sender can know, by which its part is found again.
 */
export async function parseBigMail(source: Readable, artifacts: Artifacts, limit: number): Promise<Mail> {
  const head: Buffer[] = []
  let headSize = 0
  source.on('data', (chunk: Buffer) => {
    if (headSize < HEAD) head.push(chunk)
    headSize += chunk.length
  })
  try {
    return await takeApart(source, artifacts, limit)
  } catch (error) {
    // The disk failed: that may pass. A mail that cannot be taken apart never will be; its headers still say much.
    if (source.errored || !isSplitterError(error)) throw error
    return headersOnly(Buffer.concat(head).subarray(0, HEAD), reasonOf(error))
  }
}

async function takeApart(source: Readable, artifacts: Artifacts, limit: number): Promise<Mail> {
  const secret = randomBytes(16).toString('hex')
  const saved: Attachment[] = []
  const skeleton: Buffer[] = []
  let text = 0
  let lines = 0
  const room = () => text < MAX_TEXT && lines < MAX_LINES
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
      if (!room()) continue
      lines += 2
      if (isText(chunk)) skeleton.push(chunk.getHeaders())
      else {
        skeleton.push(noteFor(chunk, `${secret} ${saved.length}`))
        open = openPart(chunk, artifacts, limit)
      }
    } else if (chunk.type === 'body' && open) {
      await open.write(chunk.value)
    } else if (room()) {
      // Boundaries count as well: a mail can consist of nothing else.
      const kept = upToLine(chunk.value, MAX_LINES - lines).subarray(0, MAX_TEXT - text)
      lines += kept.length < chunk.value.length ? MAX_LINES : countLines(kept, MAX_LINES)
      text += kept.length
      skeleton.push(kept)
    }
  }
  await close()

  const mail = await parseMail(Buffer.concat(skeleton))
  const cut = room()
    ? undefined
    : `Its text is over ${MAX_TEXT} bytes or ${MAX_LINES} lines; the rest was left out.`
  const whole: Mail = {
    ...mail,
    parts: mail.parts.map((part) => rejoin(part, secret, saved)),
    ...(cut ? { unreadable: cut } : {}),
  }
  const winmails = await loadWinmails(whole.parts, artifacts)
  return unpackWinmail(whole, (part) => winmails.get(part))
}

/** mailsplit gives its limits (headers, child nodes) codes of its own. */
function isSplitterError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^E(MAX|HEAD)/.test(String(error.code))
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

function countLines(bytes: Buffer, enough: number): number {
  let count = 0
  for (let at = bytes.indexOf(10); at !== -1 && count <= enough; at = bytes.indexOf(10, at + 1)) count++
  return count
}

/** The beginning of a text, up to its n-th line end. */
function upToLine(bytes: Buffer, lines: number): Buffer {
  let at = -1
  for (let count = 0; count < lines; count++) {
    at = bytes.indexOf(10, at + 1)
    if (at === -1) return bytes
  }
  return bytes.subarray(0, at + 1)
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

/** The content of each winmail.dat that fits into memory, which it must to be read. */
async function loadWinmails(parts: readonly Part[], artifacts: Artifacts): Promise<Map<Part, Buffer>> {
  const loaded = new Map<Part, Buffer>()
  let room = MAX_WINMAIL
  for (const part of parts.filter(isWinmail)) {
    if (!part.saved || part.saved.size > room) continue
    room -= part.saved.size
    loaded.set(part, await buffer(artifacts.open(part.saved.sha256)))
  }
  return loaded
}
