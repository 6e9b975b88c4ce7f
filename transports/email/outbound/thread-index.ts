/** Bytes of the header block of Outlook's conversation index (MS-OXOMSG, section 2.2.1.3). */
const HEAD = 22
/** Bytes of the block that each answer adds. */
const CHILD = 5
const MAX_CHILDREN = 100
/** Difference between the Windows epoch (1601) and 1970, in units of 100 ns. */
const EPOCH = 116_444_736_000_000_000n
const UNITS_PER_MS = 10_000n

/** Whether a header value is a conversation index. */
export function isThreadIndex(value: string | undefined): value is string {
  if (value === undefined || !/^[A-Za-z0-9+/]{30,700}={0,2}$/.test(value)) return false
  const { length } = Buffer.from(value, 'base64')
  return length >= HEAD && (length - HEAD) % CHILD === 0 && length <= HEAD + CHILD * MAX_CHILDREN
}

/**
 * The index of an answer, which Outlook sorts below its parent. `at`: Unix ms. `id` (0 to 255)
 * distinguishes answers at the same time.
 */
export function childIndex(parent: string, at: number, id: number): string {
  const bytes = Buffer.from(parent, 'base64')
  if (bytes.length >= HEAD + CHILD * MAX_CHILDREN) return parent
  // The first six bytes are the high bytes of the time of the first mail, in units of 100 ns.
  const firstTime = BigInt(bytes.readUIntBE(0, 6)) << 16n
  const difference = BigInt(at) * UNITS_PER_MS + EPOCH - firstTime
  const elapsed = difference > 0n ? difference : 0n
  // Differences up to about 1.7 years are stored in units of 2^18, longer ones in units of 2^23
  // with the first bit set.
  const isLong = elapsed >> 49n !== 0n
  const units = Number((elapsed >> (isLong ? 23n : 18n)) & 0x7fff_ffffn)
  const child = Buffer.alloc(CHILD)
  child.writeUInt32BE(((isLong ? 0x8000_0000 : 0) | units) >>> 0)
  child[4] = id & 0xff
  return Buffer.concat([bytes, child]).toString('base64')
}
