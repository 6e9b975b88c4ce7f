import { type ByteCursor, cursorOver } from './byte-cursor.ts'

/** A property of a message or an attachment. `value` is a view of the input. */
export type MapiProperty = { type: number; value: Buffer }

/** Property ids ([MS-OXPROPS]) that say something to somebody who reads a mail. */
export const PROPERTY = {
  messageClass: 0x001a,
  body: 0x1000,
  rtfCompressed: 0x1009,
  bodyHtml: 0x1013,
  displayName: 0x3001,
  attachData: 0x3701,
  attachFilename: 0x3704,
  attachLongFilename: 0x3707,
  attachMimeTag: 0x370e,
  attachContentId: 0x3712,
  attachFlags: 0x3714,
  internetCodePage: 0x3fde,
  attachmentHidden: 0x7ffe,
} as const

/** Property types ([MS-OXCDATA], section 2.11.1) whose values are read here; others are passed over. */
export const PROPERTY_TYPE = { object: 0x000d, string8: 0x001e, string: 0x001f, binary: 0x0102 } as const

/** Bytes of a value of each type of fixed size, without padding. */
const FIXED: ReadonlyMap<number, number> = new Map([
  [0x0002, 2],
  [0x000b, 2],
  [0x0003, 4],
  [0x0004, 4],
  [0x000a, 4],
  [0x0005, 8],
  [0x0006, 8],
  [0x0007, 8],
  [0x0014, 8],
  [0x0040, 8],
  [0x0048, 16],
])
const VARIABLE: ReadonlySet<number> = new Set(Object.values(PROPERTY_TYPE))
const WANTED: ReadonlySet<number> = new Set(Object.values(PROPERTY))
const MULTIPLE = 0x1000
const FIRST_NAMED = 0x8000

/**
 * Reads a list of properties as TNEF carries it ([MS-OXTNEF], section 2.1.3.4) and puts those of `PROPERTY` into
 * `found`. False where the list is broken; what stood before that is in `found`.
 */
export function readMapiProperties(bytes: Buffer, found: Map<number, MapiProperty>): boolean {
  const cursor = cursorOver(bytes)
  try {
    const count = cursor.u32()
    // Every turn takes bytes or throws, so a count that lies does no harm.
    for (let index = 0; index < count; index++) readProperty(cursor, found)
    return true
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}

function readProperty(cursor: ByteCursor, found: Map<number, MapiProperty>): void {
  const type = cursor.u16()
  const id = cursor.u16()
  if (id >= FIRST_NAMED) passName(cursor)
  const value = readValue(cursor, type)
  if (WANTED.has(id) && value) found.set(id, { type, value })
}

/** A named property is preceded by the GUID of its namespace, and a number or a name there. */
function passName(cursor: ByteCursor): void {
  cursor.take(16)
  const isNumber = cursor.u32() === 0
  const length = cursor.u32()
  if (!isNumber) takePadded(cursor, length)
}

/** The value of a property that has one; of several values nothing is wanted. */
function readValue(cursor: ByteCursor, type: number): Buffer | undefined {
  const base = type & ~MULTIPLE
  const size = FIXED.get(base)
  const isMultiple = base !== type
  if (size !== undefined) {
    const values = cursor.take((isMultiple ? cursor.u32() : 1) * padded(size))
    return isMultiple ? undefined : values.subarray(0, size)
  }
  if (!VARIABLE.has(base)) throw new RangeError(`a property has the unknown type ${type}`)
  const count = cursor.u32()
  let value: Buffer | undefined
  for (let index = 0; index < count; index++) value = takePadded(cursor, cursor.u32())
  return isMultiple ? undefined : value
}

/** Values end at a multiple of four bytes; the last one of a list may lack its padding. */
function takePadded(cursor: ByteCursor, length: number): Buffer {
  const value = cursor.take(length)
  cursor.pass(padded(length) - length)
  return value
}

function padded(length: number): number {
  return Math.ceil(length / 4) * 4
}
