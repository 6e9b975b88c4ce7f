/** A mail as Outlook would wrap it, written after [MS-OXTNEF]. */
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

/** A property as it goes over the wire. */
export type Property = Buffer

/** An attachment with a short name and nothing else. */
export const file = (title: string, content: string): TnefFile => ({ title, data: Buffer.from(content) })

/** The bytes of a winmail.dat. */
export function encodeTnef(content: TnefContent): Buffer {
  const { codePage = 1252, messageClass = 'IPM.Microsoft Mail.Note', body, properties, attachments } = content
  return Buffer.concat([
    u32(0x223e9f78),
    u16(0x1234),
    attribute(1, 0x00069007, u32(codePage), u32(0)),
    attribute(1, 0x00078008, text(messageClass)),
    ...(body ? [attribute(1, 0x0002800c, body, Buffer.alloc(1))] : []),
    ...(properties ? [attribute(1, 0x00069003, u32(properties.length), ...properties)] : []),
    ...(attachments ?? []).flatMap(encodeFile),
  ])
}

/** Ids of properties ([MS-OXPROPS]). */
export const ID = {
  body: 0x1000,
  rtf: 0x1009,
  html: 0x1013,
  data: 0x3701,
  longName: 0x3707,
  contentId: 0x3712,
  codePage: 0x3fde,
}

/** Properties by their types. */
export const property = {
  int32: (id: number, value: number) => fixed(id, 0x0003, u32(value)),
  /** Of a type with values of a known size, a multiple of four. */
  fixed,
  string: (id: number, value: string) => sized(id, 0x001f, utf16(value)),
  strings: (id: number, ...values: string[]) => sized(id, 0x101f, ...values.map(utf16)),
  binary: (id: number, value: Uint8Array) => sized(id, 0x0102, value),
  /** A message or an OLE storage, behind the id of its interface. */
  object: (id: number, value: Uint8Array) => sized(id, 0x000d, Buffer.concat([Buffer.alloc(16, 7), value])),
  /** A property with a name of its own. */
  named: (id: number, name: string, value: string) => {
    const [unnamed, bytes] = [sized(id, 0x001f, utf16(value)), utf16(name)]
    const naming = [Buffer.alloc(16, 3), u32(1), u32(bytes.length), padded(bytes)]
    return Buffer.concat([unnamed.subarray(0, 4), ...naming, unnamed.subarray(4)])
  },
}

function fixed(id: number, type: number, ...values: Uint8Array[]): Property {
  return Buffer.concat([u16(type), u16(id), ...(type & 0x1000 ? [u32(values.length)] : []), ...values])
}

function sized(id: number, type: number, ...values: Uint8Array[]): Property {
  const encoded = values.flatMap((each) => [u32(each.length), padded(each)])
  return Buffer.concat([u16(type), u16(id), u32(values.length), ...encoded])
}

function encodeFile({ title, data, properties }: TnefFile): Buffer[] {
  return [
    attribute(2, 0x00069002, Buffer.alloc(14)),
    ...(title === undefined
      ? []
      : [attribute(2, 0x00018010, typeof title === 'string' ? text(title) : title)]),
    ...(data ? [attribute(2, 0x0006800f, data)] : []),
    ...(properties ? [attribute(2, 0x00069005, u32(properties.length), ...properties)] : []),
  ]
}

function attribute(level: number, id: number, ...pieces: Uint8Array[]): Buffer {
  const data = Buffer.concat(pieces)
  const sum = data.reduce((total, byte) => (total + byte) % 65_536, 0)
  return Buffer.concat([Buffer.from([level]), u32(id), u32(data.length), data, u16(sum)])
}

function padded(bytes: Uint8Array): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3)])
}

const text = (value: string) => Buffer.from(`${value}\0`, 'latin1')
const utf16 = (value: string) => Buffer.from(`${value}\0`, 'utf16le')

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
