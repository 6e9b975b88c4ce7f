import { type ByteCursor, cursorOver } from './byte-cursor.ts'
import { codePageDecoder } from './code-page.ts'
import { decompressRtf } from './compressed-rtf.ts'
import { type MapiProperty, PROPERTY, PROPERTY_TYPE, readMapiProperties } from './mapi-properties.ts'
import { readRtf } from './rtf-body.ts'

/** What a winmail.dat holds, as far as it can be read. Nothing in it is trusted; names may be paths. */
export type Tnef = {
  /** `IPM.Note` for a mail; meetings, contacts and others have classes of their own. */
  messageClass: string
  text?: string
  html?: string
  /** True where the only body is one in compressed RTF that could not be read. */
  hasUnreadRtf: boolean
  attachments: TnefAttachment[]
  /** False where bytes were missing or wrong, or more was in it than is read: then this is only a part. */
  whole: boolean
}

export type TnefAttachment = {
  name: string
  type?: string
  contentId?: string
  inline: boolean
  /** A view of the input. */
  content: Uint8Array
  /** What it holds where it is a message by itself. */
  message?: Tnef
}

/**
 * Reads the Transport Neutral Encapsulation Format ([MS-OXTNEF]), in which Outlook wraps what is formatted as rich
 * text: bodies and attachments, with their MAPI properties ([MS-OXCDATA], section 2.11). Undefined for anything else.
 * Never throws; takes time and memory in proportion to the input, and for RTF 2 MB at most, whatever lengths and counts stand in it.
 */
export function readTnef(bytes: Uint8Array): Tnef | undefined {
  const input = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return readMessage(input, { attachments: MAX_ATTACHMENTS, rtf: MAX_RTF }, MAX_DEPTH)
}

/** What may still be taken out of one input, whatever message within it holds it: attachments, bytes of RTF. */
type Room = { attachments: number; rtf: number }
/** What was read of the message or of one attachment. */
type Draft = { attributes: Map<number, Buffer>; properties: Map<number, MapiProperty> }

const MAX_ATTACHMENTS = 1000
/** Compressed RTF grows when it is read; a text for a person has a few thousand bytes. */
const MAX_RTF = 2 * 1024 * 1024
const MAX_DEPTH = 8
const SIGNATURE = 0x223e9f78
const LEVEL = { message: 1, attachment: 2 }

/** The attributes that are read ([MS-OXTNEF], section 2.1.3.3). */
const ATTRIBUTE = {
  messageClass: 0x00078008,
  body: 0x0002800c,
  oemCodePage: 0x00069007,
  messageProperties: 0x00069003,
  attachRenderData: 0x00069002,
  attachTitle: 0x00018010,
  attachTransportFilename: 0x00069001,
  attachData: 0x0006800f,
  attachProperties: 0x00069005,
}
const KEPT: ReadonlySet<number> = new Set(Object.values(ATTRIBUTE))
const PROPERTY_LISTS: ReadonlySet<number> = new Set([ATTRIBUTE.messageProperties, ATTRIBUTE.attachProperties])

function readMessage(bytes: Buffer, room: Room, depth: number): Tnef | undefined {
  if (bytes.length < 6 || bytes.readUInt32LE() !== SIGNATURE) return undefined
  const { message, attachments, whole } = readAttributes(bytes.subarray(6), room)
  const codePage = message.attributes.get(ATTRIBUTE.oemCodePage)
  const decoder = codePageDecoder(codePage && codePage.length >= 4 ? codePage.readUInt32LE() : undefined)
  const { attributes, properties } = message
  const text =
    textOf(properties.get(PROPERTY.body), decoder) ?? decoded(attributes.get(ATTRIBUTE.body), decoder)
  const html = textOf(properties.get(PROPERTY.bodyHtml), htmlDecoder(properties, decoder))
  const rtf = text || html ? undefined : properties.get(PROPERTY.rtfCompressed)
  const rtfBody = rtf && rtfBodyOf(rtf.value, room)
  const messageClass =
    decoded(attributes.get(ATTRIBUTE.messageClass), decoder) ??
    textOf(properties.get(PROPERTY.messageClass), decoder)
  const read = attachments.map((draft) => toAttachment(draft, decoder, room, depth))
  return {
    messageClass: messageClass ?? 'IPM.Note',
    ...(text ? { text } : {}),
    ...(html ? { html } : {}),
    ...rtfBody,
    hasUnreadRtf: rtf !== undefined && rtfBody === undefined,
    attachments: read.filter((each) => each !== undefined),
    whole: whole && !read.includes(undefined),
  }
}

/** Outlook keeps what is formatted in RTF alone, HTML as well. */
function rtfBodyOf(compressed: Buffer, room: Room) {
  const rtf = decompressRtf(compressed, room.rtf)
  room.rtf -= rtf?.length ?? 0
  return rtf && readRtf(rtf)
}

/** Reads attribute by attribute, up to the first that is broken. */
function readAttributes(bytes: Buffer, room: Room) {
  const message = emptyDraft()
  const attachments: Draft[] = []
  let whole = true
  const cursor = cursorOver(bytes)
  try {
    while (cursor.left() > 0) {
      const { level, id, data, intact } = nextAttribute(cursor)
      whole &&= intact
      if (level === LEVEL.attachment && (id === ATTRIBUTE.attachRenderData || attachments.length === 0)) {
        if (room.attachments === 0) return { message, attachments, whole: false }
        room.attachments--
        attachments.push(emptyDraft())
      }
      const draft = level === LEVEL.attachment ? attachments.at(-1) : message
      if (draft && KEPT.has(id) && !keep(draft, id, data)) whole = false
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    whole = false
  }
  return { message, attachments, whole }
}

function emptyDraft(): Draft {
  return { attributes: new Map(), properties: new Map() }
}

function nextAttribute(cursor: ByteCursor) {
  const level = cursor.take(1).readUInt8()
  if (level !== LEVEL.message && level !== LEVEL.attachment)
    throw new RangeError(`there is no level ${level}`)
  const id = cursor.u32()
  const data = cursor.take(cursor.u32())
  return { level, id, data, intact: cursor.u16() === checksum(data) }
}

/** The sum of all bytes ([MS-OXTNEF], section 2.1.3.2). */
function checksum(data: Buffer): number {
  let sum = 0
  for (let at = 0; at < data.length; at++) sum += data[at] ?? 0
  return sum & 0xffff
}

/** False where it could not be read to its end. */
function keep(draft: Draft, id: number, data: Buffer): boolean {
  if (PROPERTY_LISTS.has(id)) return readMapiProperties(data, draft.properties)
  draft.attributes.set(id, data)
  return true
}

/** Undefined for one without content: links to files elsewhere, and what is in no form known here. */
function toAttachment(
  { attributes, properties }: Draft,
  decoder: TextDecoder,
  room: Room,
  depth: number,
): TnefAttachment | undefined {
  const content = contentOf(properties.get(PROPERTY.attachData)) ?? attributes.get(ATTRIBUTE.attachData)
  if (!content) return undefined
  const property = (id: number) => textOf(properties.get(id), decoder) || undefined
  const attribute = (id: number) => decoded(attributes.get(id), decoder) || undefined
  const type = property(PROPERTY.attachMimeTag)
  const contentId = property(PROPERTY.attachContentId)
  const message = depth > 0 ? readMessage(content, room, depth - 1) : undefined
  return {
    name:
      property(PROPERTY.attachLongFilename) ??
      attribute(ATTRIBUTE.attachTransportFilename) ??
      attribute(ATTRIBUTE.attachTitle) ??
      property(PROPERTY.attachFilename) ??
      property(PROPERTY.displayName) ??
      '',
    ...(type ? { type } : {}),
    ...(contentId ? { contentId } : {}),
    inline: contentId !== undefined && isHidden(properties),
    content,
    ...(message ? { message } : {}),
  }
}

/** An embedded object begins with the id of its interface: a message or an OLE storage. */
const INTERFACE_ID = 16

function contentOf(property: MapiProperty | undefined): Buffer | undefined {
  return property?.type === PROPERTY_TYPE.object ? property.value.subarray(INTERFACE_ID) : property?.value
}

/** The flag of an image that the HTML body shows ([MS-OXCMSG], section 2.2.2.18). */
const RENDERED_IN_BODY = 4

function isHidden(properties: Draft['properties']): boolean {
  const flags = properties.get(PROPERTY.attachFlags)?.value
  const hidden = properties.get(PROPERTY.attachmentHidden)?.value
  return Boolean((flags?.[0] ?? 0) & RENDERED_IN_BODY) || Boolean(hidden?.[0])
}

/** HTML in bytes has a code page of its own, which the message names. */
function htmlDecoder(properties: Draft['properties'], otherwise: TextDecoder): TextDecoder {
  const codePage = properties.get(PROPERTY.internetCodePage)?.value
  return codePage && codePage.length >= 4 ? codePageDecoder(codePage.readUInt32LE()) : otherwise
}

const utf16 = new TextDecoder('utf-16le')

function textOf(property: MapiProperty | undefined, decoder: TextDecoder): string | undefined {
  return decoded(property?.value, property?.type === PROPERTY_TYPE.string ? utf16 : decoder)
}

/** Texts end with a NUL, or not. */
function decoded(bytes: Buffer | undefined, decoder: TextDecoder): string | undefined {
  return bytes && decoder.decode(bytes).split('\0', 1)[0]
}
