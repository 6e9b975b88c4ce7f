import { buffer } from 'node:stream/consumers'
import { inflateSync } from 'node:zlib'
import type { FilePart } from 'ai'
import { z } from 'zod'
import { reasonOf } from '../../core/errors.ts'
import { pathGet } from '../../core/json.ts'
import type { Attachment, Message } from '../../core/message.ts'
import type { SkillContext } from '../../core/skill.ts'
import { size } from '../../core/units.ts'

const count = (max: number, usual: number) => z.int().min(1).max(max).default(usual)

/**
 * `attachments: {max-size, max-count, max-pages}` of a model, or `off`: the files of a message that
 * are passed to it.
 */
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

/** Files for a model. `notes`: by hash, the text in the prompt about a file, besides its name. */
export type ReadFiles = {
  parts: FilePart[]
  texts: { name: string; text: string }[]
  notes: ReadonlyMap<string, string>
}

export const NO_FILES: ReadFiles = { parts: [], texts: [], notes: new Map() }

/** Maximum characters of all text files together. */
const MAX_TEXT = 64_000
/** The files together may be this many times as large as one. */
const TOTAL_PER_FILE = 4

/**
 * Reads images and PDFs (recognised by content) and texts, within the limits. `notes` says which
 * files are omitted, and why.
 */
export async function readFiles(
  messages: readonly Message[],
  settings: Settings,
  { services, call, log }: Pick<SkillContext, 'services' | 'call' | 'log'>,
): Promise<ReadFiles> {
  const all = messages.flatMap(({ id, attachments }) => attachments.map((one) => ({ one, id })))
  if (!settings || all.length === 0) return NO_FILES
  const parts: FilePart[] = []
  const texts: ReadFiles['texts'] = []
  const notes = new Map<string, string>()
  const maxSize = settings['max-size']
  let bytesLeft = TOTAL_PER_FILE * maxSize
  let textLeft = MAX_TEXT

  /** Adds a file to `parts` or `texts`. Returns why it is omitted; '' if it is not. */
  const read = async (one: Attachment, messageId: string): Promise<string> => {
    if (parts.length + texts.length >= settings['max-count'])
      return `only ${settings['max-count']} files are read`
    if (one.size > maxSize) return `over ${maxSize} bytes`
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
    if (notes.has(one.sha256)) continue
    const reason = await read(one, id).catch((error: unknown) => {
      log.warn({ attachment: one.name, reason: reasonOf(error) }, 'a file could not be read for a model')
      return 'it no longer exists'
    })
    notes.set(one.sha256, reason === '' ? 'attached below' : `omitted: ${reason}`)
  }
  return { parts, texts, notes }
}

/** The files without `parts`, for a model that accepts only text. `notes` then says so. */
export function withoutParts({ parts, texts, notes }: ReadFiles, messages: readonly Message[]): ReadFiles {
  const names = new Set(parts.map(({ filename }) => filename))
  const refused = messages.flatMap(({ attachments }) => attachments).filter(({ name }) => names.has(name))
  const all = refused.map(({ sha256 }) => [sha256, 'omitted: the model cannot read it'] as const)
  return { parts: [], texts, notes: new Map([...notes, ...all]) }
}

/** Whether a run failed because the model or its provider does not accept such files. */
export function refusesFiles(error: unknown): boolean {
  const status = Number(pathGet(error, 'cause.statusCode'))
  return (
    [400, 413, 415, 422].includes(status) ||
    pathGet(error, 'cause.name') === 'AI_UnsupportedFunctionalityError'
  )
}

/** Types that models read, by the first bytes of a file. */
const MAGIC_BYTES: readonly [type: string, magic: RegExp][] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF.{4}WEBP/s],
  ['application/pdf', /^.{0,1000}?%PDF-\d/s],
]

/** The type of an image or a PDF; undefined for other content. */
function typeOf(bytes: Buffer): string | undefined {
  const head = bytes.toString('latin1', 0, 1024)
  return MAGIC_BYTES.find(([, magic]) => magic.test(head))?.[0]
}

const TEXT_TYPES = /^text\/|^application\/(.*\+)?(json|xml|yaml|x-yaml|toml|javascript|sql|csv|x-ndjson)$/
const TEXT_NAMES =
  /\.(txt|md|csv|tsv|log|json|jsonl|ya?ml|toml|xml|html?|ini|conf|diff|patch|eml|ics|[jt]sx?|py|rb|go|rs|sh|sql)$/i

function isText({ type, name }: Attachment): boolean {
  return TEXT_TYPES.test(type.split(';')[0]?.trim().toLowerCase() ?? '') || TEXT_NAMES.test(name)
}

/** Undefined for bytes that are not UTF-8 text. */
function textOf(bytes: Buffer): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}

const PAGE = /\/Type\s*\/Page(?![A-Za-z])/g
/** The start of an object stream, which may contain pages in compressed form. */
const OBJECT_STREAM = /\/Type\s*\/ObjStm[\s\S]{0,300}?stream\r?\n/g
/** Maximum total of unpacked bytes per file, against decompression bombs. */
const MAX_UNPACKED = 16 * 1024 * 1024

/** Maximum compression ratio of zlib (https://zlib.net/zlib_tech.html). */
const MAX_RATIO = 1032

/**
 * Whether bytes begin with a zlib header (RFC 1950): compression method 8, and a multiple of 31.
 */
const isDeflated = (packed: Buffer) =>
  packed.length > 1 && ((packed[0] ?? 0) & 15) === 8 && packed.readUInt16BE(0) % 31 === 0

/** The number of pages of a PDF; 0 if unknown, for example if encrypted. */
function pagesOf(bytes: Buffer): number {
  const text = bytes.toString('latin1')
  let pages = text.match(PAGE)?.length ?? 0
  let room = MAX_UNPACKED
  let previousEnd = 0
  for (const found of text.matchAll(OBJECT_STREAM)) {
    const start = found.index + found[0].length
    const isInsidePrevious = start < previousEnd
    if (isInsidePrevious) continue
    if (room <= 0) return 0
    const end = text.indexOf('endstream', start)
    if (end < 0) return 0
    previousEnd = end
    const packed = bytes.subarray(start, end)
    try {
      const unpacked = inflateSync(packed, { maxOutputLength: room })
      room -= unpacked.length
      pages += unpacked.toString('latin1').match(PAGE)?.length ?? 0
    } catch (error) {
      if (pathGet(error, 'code') === 'ERR_BUFFER_TOO_LARGE') return 0
      // Encrypted, or in another encoding: its pages are not counted. A broken zlib stream may have
      // been unpacked almost completely, so its maximum is subtracted.
      if (isDeflated(packed)) room -= packed.length * MAX_RATIO
    }
  }
  return room < 0 ? 0 : pages
}
