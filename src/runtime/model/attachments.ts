import { buffer } from 'node:stream/consumers'
import { inflateSync } from 'node:zlib'
import type { FilePart } from 'ai'
import { z } from 'zod'
import { reasonOf } from '../../core/errors.ts'
import { pathGet } from '../../core/json.ts'
import type { Attachment, Message } from '../../core/message.ts'
import type { SkillContext } from '../../core/skill.ts'
import { size } from '../../core/units.ts'

const count = (most: number, usual: number) => z.int().min(1).max(most).default(usual)

/** `attachments: {max-size, max-count, max-pages}` of a model, or `off`: the files of a message that are passed to it. */
export const attachmentSettings = z
  .union([
    z.literal(['off', false]).transform(() => undefined),
    z.strictObject({
      /** Maximum bytes of a file; the total may be four times as much. */
      'max-size': size.default(5 * 1024 * 1024),
      'max-count': count(50, 10),
      /** Maximum pages of a PDF. */
      'max-pages': count(1000, 50),
    }),
  ])
  .prefault({})
type Settings = z.output<typeof attachmentSettings>

/** Files for a model. `told`, by hash: what the prompt says about a file besides its name. */
export type ReadFiles = {
  parts: FilePart[]
  texts: { name: string; text: string }[]
  told: ReadonlyMap<string, string>
}

export const NO_FILES: ReadFiles = { parts: [], texts: [], told: new Map() }

/** Maximum characters of all text files. */
const MOST_TEXT = 64_000

/** Reads images, PDFs and texts within the limits, detected by content. The prompt mentions omitted files. */
export async function readFiles(
  messages: readonly Message[],
  settings: Settings,
  { services, call, log }: Pick<SkillContext, 'services' | 'call' | 'log'>,
): Promise<ReadFiles> {
  const all = messages.flatMap(({ id, attachments }) => attachments.map((one) => ({ one, id })))
  if (!settings || all.length === 0) return NO_FILES
  const { parts, texts, told }: ReadFiles & { told: Map<string, string> } = {
    parts: [],
    texts: [],
    told: new Map(),
  }
  const most = settings['max-size']
  let [bytesLeft, textLeft] = [4 * most, MOST_TEXT]

  const read = async (one: Attachment, messageId: string): Promise<string> => {
    if (parts.length + texts.length >= settings['max-count'])
      return `only ${settings['max-count']} files are read`
    if (one.size > most) return `over ${most} bytes`
    if (one.size > bytesLeft) return 'too large together with the others'
    const bytes = await buffer(await services.artifacts.open({ artifact: one, messageId }, call))
    const mediaType = typeOf(bytes)
    const pages = mediaType === 'application/pdf' ? pagesOf(bytes) : 1
    if (pages === 0) return 'its pages cannot be counted'
    if (pages > settings['max-pages']) return `${pages} pages, over ${settings['max-pages']}`
    if (mediaType) {
      bytesLeft -= one.size
      parts.push({ type: 'file', data: bytes, mediaType, filename: one.name })
      return ''
    }
    const text = isText(one) ? textOf(bytes) : undefined
    if (text === undefined) return 'of an unsupported type'
    if (textLeft === 0) return 'too much text together with the others'
    const cut = text.slice(0, textLeft)
    textLeft -= cut.length
    texts.push({
      name: one.name,
      text: cut.length < text.length ? `${cut}\n[… ${text.length - cut.length} more]` : cut,
    })
    return ''
  }

  for (const { one, id } of all) {
    if (told.has(one.sha256)) continue
    const reason = await read(one, id).catch((error: unknown) => {
      log.warn({ attachment: one.name, reason: reasonOf(error) }, 'a file could not be read for a model')
      return 'it no longer exists'
    })
    told.set(one.sha256, reason === '' ? 'attached below' : `omitted: ${reason}`)
  }
  return { parts, texts, told }
}

/** Only the text files, for a model that does not accept others. */
export function withoutParts({ parts, texts, told }: ReadFiles, messages: readonly Message[]): ReadFiles {
  const names = new Set(parts.map(({ filename }) => filename))
  const refused = messages.flatMap(({ attachments }) => attachments).filter(({ name }) => names.has(name))
  const all = refused.map(({ sha256 }) => [sha256, 'omitted: the model cannot read it'] as const)
  return { parts: [], texts, told: new Map([...told, ...all]) }
}

/** Whether a run failed because the model or its provider does not accept such files. */
export function refusesFiles(error: unknown): boolean {
  const status = Number(pathGet(error, 'cause.statusCode'))
  return (
    [400, 413, 415, 422].includes(status) ||
    pathGet(error, 'cause.name') === 'AI_UnsupportedFunctionalityError'
  )
}

const IMAGES: readonly [type: string, magic: RegExp][] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF.{4}WEBP/s],
  ['application/pdf', /^.{0,1000}?%PDF-\d/s],
]

function typeOf(bytes: Buffer): string | undefined {
  const head = bytes.toString('latin1', 0, 1024)
  return IMAGES.find(([, magic]) => magic.test(head))?.[0]
}

const TEXTS = /^text\/|^application\/(.*\+)?(json|xml|yaml|x-yaml|toml|javascript|sql|csv|x-ndjson)$/
const TEXT_NAMES =
  /\.(txt|md|csv|tsv|log|json|jsonl|ya?ml|toml|xml|html?|ini|conf|diff|patch|eml|ics|[jt]sx?|py|rb|go|rs|sh|sql)$/i

function isText({ type, name }: Attachment): boolean {
  return TEXTS.test(type.split(';')[0]?.trim().toLowerCase() ?? '') || TEXT_NAMES.test(name)
}

function textOf(bytes: Buffer): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}

const PAGE = /\/Type\s*\/Page(?![A-Za-z])/g
/** Object streams, which may contain pages. */
const PACKED = /\/Type\s*\/ObjStm[\s\S]{0,300}?stream\r?\n/g
/** Maximum total of unpacked bytes per file, against decompression bombs. */
const MOST_UNPACKED = 16 * 1024 * 1024

/** Maximum compression ratio of zlib (https://zlib.net/zlib_tech.html). */
const MOST_RATIO = 1032

const isDeflated = (packed: Buffer) =>
  packed.length > 1 && ((packed[0] ?? 0) & 15) === 8 && packed.readUInt16BE(0) % 31 === 0

/** The number of pages of a PDF; 0 if unknown, for example if encrypted. */
function pagesOf(bytes: Buffer): number {
  const text = bytes.toString('latin1')
  let pages = text.match(PAGE)?.length ?? 0
  let room = MOST_UNPACKED
  let past = 0
  for (const found of text.matchAll(PACKED)) {
    const start = found.index + found[0].length
    // Inside the previous stream: each byte is read once.
    if (start < past) continue
    if (room <= 0) return 0
    const end = text.indexOf('endstream', start)
    if (end < 0) return 0
    past = end
    const packed = bytes.subarray(start, end)
    try {
      const unpacked = inflateSync(packed, { maxOutputLength: room })
      room -= unpacked.length
      pages += unpacked.toString('latin1').match(PAGE)?.length ?? 0
    } catch (error) {
      if (pathGet(error, 'code') === 'ERR_BUFFER_TOO_LARGE') return 0
      // Encrypted or in another encoding: counts what can be counted. A broken stream may have been unpacked almost completely.
      if (isDeflated(packed)) room -= packed.length * MOST_RATIO
    }
  }
  return room < 0 ? 0 : pages
}
