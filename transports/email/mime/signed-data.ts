/** The object identifier of signed-data (RFC 5652, section 5.1). */
const SIGNED_DATA = '2a864886f70d010702'
/** The object identifier of data (RFC 5652, section 4). */
const DATA = '2a864886f70d010701'
/** ASN.1 tags. `content` is the field [0] EXPLICIT of ContentInfo and EncapsulatedContentInfo. */
const TAG = { octets: 0x04, oid: 0x06, set: 0x31, content: 0xa0 }
/** The bit of a tag that says that the element consists of elements. */
const CONSTRUCTED = 0x20
const MAX_DEPTH = 16
/** Enough for 100 MB: programs write the content in pieces of 1,000 bytes or more. */
const MAX_ELEMENTS = 100_000

/** The positions where the content of an element starts and ends, and where the next element is. */
type Element = { tag: number; start: number; end: number; next: number }
/** `measured` has the elements by position, so that each is read once, however deep it is. */
type Reader = { bytes: Buffer; measured: Map<number, Element> }

/**
 * The mail inside an opaque S/MIME signature (CMS signed-data, in DER or BER); undefined if there
 * is none. Nothing is verified.
 */
export function signedContent(bytes: Buffer): Buffer | undefined {
  const reader: Reader = { bytes, measured: new Map() }
  try {
    const [type, outer] = childrenOf(reader, elementAt(reader, 0, 0))
    if (textOf(reader, type) !== SIGNED_DATA || outer?.tag !== TAG.content) return undefined
    const [signedData] = childrenOf(reader, outer)
    const [, algorithms, content] = childrenOf(reader, signedData)
    if (algorithms?.tag !== TAG.set) return undefined
    const [contentType, wrapped] = childrenOf(reader, content)
    if (textOf(reader, contentType) !== DATA || wrapped?.tag !== TAG.content) return undefined
    const pieces = childrenOf(reader, wrapped).flatMap((octets) => piecesOf(reader, octets, 0))
    return pieces.length === 0 ? undefined : Buffer.concat(pieces)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** The element at a position. Throws RangeError for one that is cut off, or that is too complex. */
function elementAt(reader: Reader, at: number, depth: number): Element {
  const { measured } = reader
  const known = measured.get(at)
  if (known) return known
  if (measured.size >= MAX_ELEMENTS || depth > MAX_DEPTH) throw new RangeError('too complex')
  const element = measure(reader, at, depth)
  measured.set(at, element)
  return element
}

function measure(reader: Reader, at: number, depth: number): Element {
  const { bytes } = reader
  const tag = bytes.readUInt8(at)
  const first = bytes.readUInt8(at + 1)
  let start = at + 2
  if (first === 0x80) {
    const end = endOfContents(reader, start, depth)
    return { tag, start, end, next: end + 2 }
  }
  let length = first
  if (first > 0x80) {
    const size = first - 0x80
    length = bytes.readUIntBE(start, size)
    start += size
  }
  const end = start + length
  if (end > bytes.length) throw new RangeError('cut off')
  return { tag, start, end, next: end }
}

/** Where an element of indefinite length ends: at two zero bytes in place of a further element. */
function endOfContents(reader: Reader, start: number, depth: number): number {
  let at = start
  while (reader.bytes.readUInt16BE(at) !== 0) at = elementAt(reader, at, depth + 1).next
  return at
}

function childrenOf(reader: Reader, parent: Element | undefined): Element[] {
  const children: Element[] = []
  if (!parent || (parent.tag & CONSTRUCTED) === 0) return children
  for (let at = parent.start; at < parent.end; ) {
    const child = elementAt(reader, at, 0)
    children.push(child)
    at = child.next
  }
  return children
}

/** The bytes of an octet string, which may consist of others. */
function piecesOf(reader: Reader, octets: Element, depth: number): Buffer[] {
  if (depth > MAX_DEPTH) throw new RangeError('too complex')
  if (octets.tag === TAG.octets) return [reader.bytes.subarray(octets.start, octets.end)]
  if (octets.tag !== (TAG.octets | CONSTRUCTED)) return []
  return childrenOf(reader, octets).flatMap((piece) => piecesOf(reader, piece, depth + 1))
}

function textOf({ bytes }: Reader, element: Element | undefined): string {
  return element?.tag === TAG.oid ? bytes.toString('hex', element.start, element.end) : ''
}
