import { detectMimeType } from 'nodemailer/lib/mime-funcs'
import { defined } from '../../../src/lib/defined.ts'

/** An attachment or an inline image. */
export type Part = {
  name: string
  type: string
  contentId?: string
  inline: boolean
  content: Uint8Array
}

const TNEF_TYPE = /^application\/(vnd\.)?ms-tnef$/i
const UNKNOWN_TYPE = 'application/octet-stream'
const MIME_TYPE = /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/
/** Meetings, tasks and contacts say in properties of their own what no attachment holds. */
const MAIL_CLASS = /^(IPM\.(Microsoft Mail\.)?Note\b|$)/i
const MAX_NAME = 1000

/** True for what Outlook wraps rich text and its attachments in. */
export function isWinmail({ name, type }: Part): boolean {
  return TNEF_TYPE.test(type) || (type.toLowerCase() === UNKNOWN_TYPE && /^winmail\.dat$/i.test(name))
}

/**
 * Reads what is in a winmail.dat, in the Transport Neutral Encapsulation Format ([MS-OXTNEF]); nothing in it is trusted.
 * Undefined for anything else. Never throws; takes time and memory in proportion to the input, whatever lengths and counts
 * stand in it. `isRtf`: its only body is in RTF. `whole`: all of it could be read and is in what is returned; else it must
 * be kept. The one package that reads TNEF has not been maintained since 2022, and those for RTF take minutes for
 * hostile input.
 */
export function readWinmail(input: Uint8Array) {
  const bytes = Buffer.from(input.buffer, input.byteOffset, input.byteLength)
  if (bytes.length < 6 || bytes.readUInt32LE() !== SIGNATURE) return undefined
  const message: Values = new Map()
  const attachments: Values[] = []
  const isRead = readAttributes(bytes.subarray(6), message, attachments)
  const textOf = textReader(message)
  const text = textOf(message, ID.body, ID.bodyText)
  const html = textOf(message, ID.html)
  const isMail = MAIL_CLASS.test(textOf(message, ID.messageClass, ID.class))
  const parts = attachments.flatMap((values, index) => partOf(textOf, values, index) ?? [])
  const isRtf = !text && !html && message.has(ID.rtf)
  return { text, html, isRtf, parts, whole: isRead && isMail && parts.length === attachments.length }
}

/** Undefined for a link to a file elsewhere, for an object of another program, and for a message within the message. */
function partOf(textOf: TextReader, values: Values, index: number): Part | undefined {
  const { type, bytes } = values.get(ID.attachData) ?? values.get(ID.attachContent) ?? {}
  if (!bytes || type === TYPE.object) return undefined
  const text = (...ids: number[]) => oneLine(textOf(values, ...ids).slice(0, MAX_NAME))
  const name = partName(text(ID.attachLongFilename, ID.attachTitle), index)
  const mimeType = text(ID.attachMimeTag)
  const contentId = bareContentId(text(ID.attachContentId))
  return {
    name,
    type: MIME_TYPE.test(mimeType) ? mimeType.toLowerCase() : detectMimeType(name),
    ...defined({ contentId: contentId || undefined }),
    inline: contentId !== '',
    content: bytes,
  }
}

/** Attributes and properties by their ids. */
type Values = Map<number, { type: number; bytes: Buffer }>

/** Attributes ([MS-OXTNEF], section 2.1.3.3), whose ids are longer than 16 bits, and properties ([MS-OXPROPS]). */
const ID = {
  messageClass: 0x00078008,
  bodyText: 0x0002800c,
  oemCodePage: 0x00069007,
  messageProperties: 0x00069003,
  attachRenderData: 0x00069002,
  attachTitle: 0x00018010,
  attachContent: 0x0006800f,
  attachProperties: 0x00069005,
  class: 0x001a,
  body: 0x1000,
  rtf: 0x1009,
  html: 0x1013,
  attachData: 0x3701,
  attachLongFilename: 0x3707,
  attachMimeTag: 0x370e,
  attachContentId: 0x3712,
  internetCodePage: 0x3fde,
}

/** Types of properties ([MS-OXCDATA], section 2.11.1) whose values have a length of their own. */
const TYPE = { object: 0x000d, string8: 0x001e, string: 0x001f, binary: 0x0102 }

const SIGNATURE = 0x223e9f78
const MAX_ATTACHMENTS = 1000
const WANTED = new Set(Object.values(ID))
const SIZED = new Set(Object.values(TYPE))
/** Bytes that a value of each other type takes, padding included. */
const SIZES = new Map([
  ...[0x0002, 0x0003, 0x0004, 0x000a, 0x000b].map((type) => [type, 4] as const),
  ...[0x0005, 0x0006, 0x0007, 0x0014, 0x0040].map((type) => [type, 8] as const),
  [0x0048, 16],
])
const MULTIPLE = 0x1000
const FIRST_NAMED = 0x8000

type TextReader = ReturnType<typeof textReader>

/** Makes the function that gives the first of these values that is a text with anything in it, else ''. */
function textReader(message: Values) {
  const oem = decoderOf(message.get(ID.oemCodePage)?.bytes) ?? new TextDecoder('windows-1252')
  const ofHtml = decoderOf(message.get(ID.internetCodePage)?.bytes) ?? oem
  const utf16 = new TextDecoder('utf-16le')
  const decoded = (values: Values, id: number) => {
    const { type, bytes } = values.get(id) ?? {}
    const decoder = type === TYPE.string ? utf16 : id === ID.html ? ofHtml : oem
    // Texts end with a NUL, or not.
    return decoder.decode(bytes).split('\0', 1)[0] ?? ''
  }
  return (values: Values, ...ids: number[]) => ids.map((id) => decoded(values, id)).find(Boolean) ?? ''
}

/** Reads attribute by attribute; true where nothing was broken. */
function readAttributes(bytes: Buffer, message: Values, attachments: Values[]): boolean {
  const cursor = cursorOver(bytes)
  let areSound = true
  const isRead = isSound(() => {
    while (!cursor.isAtEnd()) {
      const isOfAttachment = cursor.take(1).readUInt8() === 2
      const id = cursor.u32()
      const data = cursor.take(cursor.u32())
      // A checksum.
      cursor.take(2)
      if (isOfAttachment && (id === ID.attachRenderData || attachments.length === 0)) {
        if (attachments.length === MAX_ATTACHMENTS) throw new RangeError('there are too many attachments')
        attachments.push(new Map())
      }
      const values = (isOfAttachment && attachments.at(-1)) || message
      if (id === ID.messageProperties || id === ID.attachProperties) {
        areSound = isSound(() => readProperties(cursorOver(data), values)) && areSound
      } else if (WANTED.has(id)) values.set(id, { type: TYPE.string8, bytes: data })
    }
  })
  return isRead && areSound
}

/** A list of properties ([MS-OXTNEF], section 2.1.3.4). Each takes bytes or throws, so a count that lies does no harm. */
function readProperties(cursor: Cursor, values: Values): void {
  for (let left = cursor.u32(); left > 0; left--) readProperty(cursor, values)
}

function readProperty(cursor: Cursor, values: Values): void {
  const type = cursor.u16()
  const id = cursor.u16()
  if (id >= FIRST_NAMED) {
    // The GUID of its namespace, and a number or a name there.
    cursor.take(16)
    const isNumber = cursor.u32() === 0
    const length = cursor.u32()
    if (!isNumber) cursor.takePadded(length)
  }
  const base = type & ~MULTIPLE
  const size = SIZES.get(base)
  if (size === undefined && !SIZED.has(base)) throw new RangeError(`a property has the unknown type ${type}`)
  const count = size === undefined || base !== type ? cursor.u32() : 1
  for (let index = 0; index < count; index++) {
    const bytes = size === undefined ? cursor.takePadded(cursor.u32()) : cursor.take(size)
    if (WANTED.has(id) && base === type) values.set(id, { type, bytes })
  }
}

type Cursor = ReturnType<typeof cursorOver>

/** Reads little-endian data from the front. Every read throws a RangeError where fewer bytes are left. */
function cursorOver(bytes: Buffer) {
  let at = 0
  const take = (length: number) => {
    if (length > bytes.length - at) throw new RangeError(`${length} bytes at ${at} are more than there are`)
    at += length
    return bytes.subarray(at - length, at)
  }
  return {
    isAtEnd: () => at >= bytes.length,
    u16: () => take(2).readUInt16LE(),
    u32: () => take(4).readUInt32LE(),
    take,
    /** Values end at a multiple of four bytes; the last one of a list may lack its padding. */
    takePadded(length: number) {
      const value = take(length)
      at = Math.min(at + (-length & 3), bytes.length)
      return value
    },
  }
}

/** False where `read` ran out of bytes, or into what it does not know. */
function isSound(read: () => void): boolean {
  try {
    read()
    return true
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}

/** Code pages whose charset has a name without their number. */
const CHARSETS: Record<number, string> = {
  ...{ 932: 'shift_jis', 936: 'gbk', 949: 'euc-kr', 950: 'big5', 20866: 'koi8-r', 65001: 'utf-8' },
}

/** Undefined where the code page is not known. */
function decoderOf(codePage: Buffer | undefined): TextDecoder | undefined {
  const number = codePage && codePage.length >= 4 ? codePage.readUInt32LE() : 0
  // Code pages from 28591 on are the parts of ISO 8859.
  const charset = number > 28590 ? `iso-8859-${number - 28590}` : `windows-${number}`
  try {
    return new TextDecoder(CHARSETS[number] ?? charset)
  } catch {
    return undefined
  }
}

/** The name of the part at `index`, from what the mail says. A name is a label; a path in it is somebody's attempt. */
export function partName(name: string, index: number): string {
  return oneLine(name).replace(/^.*[\\/]/, '') || `part-${index + 1}`
}

/** Control characters in names and subjects must not reach a log line or a header of ours. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()
}

/** A content id without its angle brackets. */
export function bareContentId(id: string): string {
  return id.replace(/^<|>$/g, '')
}
