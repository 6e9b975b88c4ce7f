import { PassThrough, type Readable, type Transform } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { finished } from 'node:stream/promises'
import { type MimeNode, Splitter, type SplitterChunk } from '@zone-eu/mailsplit'
import { reasonOf } from '../../../src/core/errors.ts'
import type { Artifacts } from '../../../src/core/transport.ts'
import { headersOnly, type Mail, parseMail } from './parse.ts'
import { bareContentId, oneLine, type Part, partName } from './part.ts'
import { countLines, createSkeleton, MAX_LINES } from './skeleton.ts'
import { isWinmail, unpackWinmail } from './winmail.ts'

const HEAD = 65_536
/** Containers and texts count as well. */
const MAX_PARTS = 1000
/** As much fits into a mail of the default `max-size`. */
const MAX_WINMAIL = 40 * 1024 * 1024

/** True for a mail that must go through `parseBigMail`, though it fits into memory. */
export function hasTooManyLines(raw: Buffer): boolean {
  return raw.length > MAX_LINES && countLines(raw, MAX_LINES) > MAX_LINES
}

/**
 * Parses a mail that is too big for memory: the attachments stream to disk as they pass, and what is left, headers
 * and texts, is parsed like any other mail. Of too much text a part is left out, and told of; attachments never are.
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
  const skeleton = createSkeleton()
  const attachments: Part[] = []
  let cut: string | undefined
  let open: OpenPart | undefined
  const close = async () => {
    const part = open
    open = undefined
    if (part) attachments.push(await part.end(attachments.length))
  }

  // At a limit of its own it would throw away what it has found and not handed over.
  const splitter = source.pipe(new Splitter({ ignoreEmbedded: true, maxChildNodes: Number.MAX_SAFE_INTEGER }))
  source.once('error', (error) => splitter.destroy(error))
  let count = 0
  try {
    for await (const chunk of chunks(splitter)) {
      if (chunk.type === 'node') {
        await close()
        if (++count > MAX_PARTS) {
          cut = `It has over ${MAX_PARTS} parts; the rest was left out.`
          break
        }
        if (isText(chunk)) skeleton.addText(chunk)
        else {
          skeleton.addNote(chunk, attachments.length)
          open = openPart(chunk, artifacts, limit)
        }
      } else if (chunk.type === 'body' && open) await open.write(chunk.value)
      else skeleton.add(chunk)
    }
  } catch (error) {
    if (source.errored || !isSplitterError(error) || count === 0) {
      open?.abort()
      throw error
    }
    // What came before can be read all the same, and is whole on disk.
    cut = `${reasonOf(error)}; the rest was left out.`
  } finally {
    source.destroy()
  }
  await close()

  const mail = await parseMail(skeleton.bytes())
  const unreadable = cut ?? skeleton.cut()
  const whole = {
    ...mail,
    parts: skeleton.rejoin(mail.parts, attachments),
    ...(unreadable ? { unreadable } : {}),
  }
  const winmails = await loadWinmails(whole.parts, artifacts)
  return unpackWinmail(whole, (part) => winmails.get(part))
}

/** mailsplit gives its limits (headers, child nodes) codes of its own. */
function isSplitterError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^E(MAX|HEAD)/.test(String(error.code))
}

type OpenPart = {
  write(chunk: Buffer): Promise<void>
  /** Ends the attachment at `index`. */
  end(index: number): Promise<Part>
  abort(): void
}

function openPart(node: MimeNode, artifacts: Artifacts, limit: number): OpenPart {
  const decoder: Transform | PassThrough = node.getDecoder()
  // A decoder of its own errors on broken encodings; what it made until then is kept.
  const body = decoder.pipe(new PassThrough())
  decoder.once('error', () => body.end())
  const type = node.contentType || 'application/octet-stream'
  const saving = artifacts.save(node.filename || 'part', type, body, limit)
  // Awaited at the end of the part; a failure before that must not count as unhandled.
  saving.catch(() => {})
  return {
    async write(chunk) {
      if (!decoder.destroyed && !decoder.write(chunk)) await Promise.race([drained(decoder), saving])
    },
    async end(index) {
      decoder.end()
      const contentId = node.headers ? bareContentId(oneLine(node.headers.getFirst('Content-ID'))) : ''
      return {
        name: partName(node.filename || '', index),
        type,
        ...(contentId ? { contentId } : {}),
        inline: node.disposition === 'inline',
        content: new Uint8Array(),
        saved: await saving,
      }
    },
    abort() {
      body.destroy(new Error('the mail broke off'))
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
