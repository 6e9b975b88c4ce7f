import { crc32 } from 'node:zlib'

/** A mail as Outlook would wrap it; written after [MS-OXTNEF], for what Trivium reads of it and more. */
export type TnefContent = {
  /** Default: 1252. */
  codePage?: number
  messageClass?: string
  /** attBody, in the bytes of the code page. */
  body?: Uint8Array
  properties?: Property[]
  attachments?: TnefFile[]
}

export type TnefFile = {
  /** attAttachTitle, which has room for 8.3 in old clients, in the bytes of the code page. */
  title?: string | Uint8Array
  data?: Uint8Array
  properties?: Property[]
}

/** An attachment with a short name and nothing else. */
export const file = (title: string, content: string): TnefFile => ({ title, data: Buffer.from(content) })

/** A property with its value as it goes over the wire, but for lengths and padding. `name` makes it a named one. */
export type Property = { id: number; type: number; value: Uint8Array | Uint8Array[]; name?: string | number }

/** The bytes of a winmail.dat. */
export function encodeTnef(content: TnefContent): Buffer {
  const { codePage = 1252, messageClass = 'IPM.Microsoft Mail.Note', body, properties, attachments } = content
  return Buffer.concat([
    u32(0x223e9f78),
    u16(0x1234),
    attribute(1, 0x00089006, u32(0x00010000)),
    attribute(1, 0x00069007, u32(codePage), u32(0)),
    attribute(1, 0x00078008, text(messageClass)),
    ...(body ? [attribute(1, 0x0002800c, body, Buffer.alloc(1))] : []),
    ...(properties ? [attribute(1, 0x00069003, encodeProperties(properties))] : []),
    ...(attachments ?? []).flatMap(encodeFile),
  ])
}

/** Ids of properties ([MS-OXPROPS]). */
export const ID = {
  body: 0x1000,
  rtf: 0x1009,
  html: 0x1013,
  name: 0x3001,
  data: 0x3701,
  longName: 0x3707,
  type: 0x370e,
  contentId: 0x3712,
  flags: 0x3714,
}

/** Values of properties, by their types. */
export const property = {
  int16: (id: number, value: number): Property => ({ id, type: 0x0002, value: u16(value) }),
  int32: (id: number, value: number): Property => ({ id, type: 0x0003, value: u32(value) }),
  boolean: (id: number, value: boolean): Property => ({ id, type: 0x000b, value: u16(Number(value)) }),
  time: (id: number): Property => ({ id, type: 0x0040, value: Buffer.alloc(8, 1) }),
  guid: (id: number): Property => ({ id, type: 0x0048, value: Buffer.alloc(16, 2) }),
  string: (id: number, value: string): Property => ({
    id,
    type: 0x001f,
    value: Buffer.from(`${value}\0`, 'utf16le'),
  }),
  string8: (id: number, value: string | Uint8Array): Property => ({
    id,
    type: 0x001e,
    value: typeof value === 'string' ? text(value) : value,
  }),
  binary: (id: number, value: Uint8Array): Property => ({ id, type: 0x0102, value }),
  /** An object behind the id of its interface. */
  object: (id: number, interfaceId: string, value: Uint8Array): Property => ({
    id,
    type: 0x000d,
    value: Buffer.concat([Buffer.from(interfaceId, 'hex'), value]),
  }),
  strings: (id: number, values: string[]): Property => ({
    id,
    type: 0x101f,
    value: values.map((each) => Buffer.from(`${each}\0`, 'utf16le')),
  }),
  int16s: (id: number, values: number[]): Property => ({ id, type: 0x1002, value: values.map(u16) }),
}

/** IID_IMessage and IID_IStorage ([MS-OXTNEF], section 2.1.3.4). */
export const INTERFACE = {
  message: '0703020000000000c000000000000046',
  storage: '0b00000000000000c000000000000046',
}

/** PidTagRtfCompressed ([MS-OXRTFCP]) without any repetition found: bytes as they are, and the mark of the end. */
export function compressRtf(rtf: string): Buffer {
  const BEGINNING = 207
  const bytes = Buffer.from(rtf, 'latin1')
  const runs: Buffer[] = []
  for (let at = 0; at < bytes.length - (bytes.length % 8); at += 8) {
    runs.push(Buffer.from([0]), bytes.subarray(at, at + 8))
  }
  const rest = bytes.subarray(bytes.length - (bytes.length % 8))
  const end = Buffer.alloc(2)
  end.writeUInt16BE(((BEGINNING + bytes.length) % 4096) << 4)
  const body = Buffer.concat([...runs, Buffer.from([1 << rest.length]), rest, end])
  const crc = (crc32(body, 0xffffffff) ^ 0xffffffff) >>> 0
  return Buffer.concat([u32(body.length + 12), u32(bytes.length), u32(0x75465a4c), u32(crc), body])
}

function encodeFile({ title, data, properties }: TnefFile): Buffer[] {
  const rendering = [u16(1), u32(0xffffffff), u16(32), u16(32), u32(0)]
  return [
    attribute(2, 0x00069002, ...rendering),
    ...(title === undefined
      ? []
      : [attribute(2, 0x00018010, typeof title === 'string' ? text(title) : title)]),
    ...(data ? [attribute(2, 0x0006800f, data)] : []),
    ...(properties ? [attribute(2, 0x00069005, encodeProperties(properties))] : []),
  ]
}

function attribute(level: number, id: number, ...pieces: Uint8Array[]): Buffer {
  const data = Buffer.concat(pieces)
  const sum = data.reduce((total, byte) => (total + byte) % 65_536, 0)
  return Buffer.concat([Buffer.from([level]), u32(id), u32(data.length), data, u16(sum)])
}

function encodeProperties(properties: readonly Property[]): Buffer {
  return Buffer.concat([u32(properties.length), ...properties.flatMap(encodeProperty)])
}

const SIZED = [0x000d, 0x001e, 0x001f, 0x0102]

function encodeProperty({ id, type, value, name }: Property): Buffer[] {
  const values = Array.isArray(value) ? value : [value]
  const isSized = SIZED.includes(type & ~0x1000)
  return [
    u16(type),
    u16(id),
    ...(name === undefined ? [] : [Buffer.alloc(16, 3), nameOf(name)]),
    ...(isSized || Array.isArray(value) ? [u32(values.length)] : []),
    ...values.flatMap((each) => (isSized ? [u32(each.length), padded(each)] : [padded(each)])),
  ]
}

function nameOf(name: string | number): Buffer {
  if (typeof name === 'number') return Buffer.concat([u32(0), u32(name)])
  const bytes = Buffer.from(`${name}\0`, 'utf16le')
  return Buffer.concat([u32(1), u32(bytes.length), padded(bytes)])
}

function padded(bytes: Uint8Array): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)])
}

function text(value: string): Buffer {
  return Buffer.from(`${value}\0`, 'latin1')
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(value)
  return bytes
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
