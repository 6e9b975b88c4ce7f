/** Reads little-endian binary data from the front. Every read throws a RangeError where fewer bytes are left. */
export type ByteCursor = {
  /** How many bytes are left. */
  left(): number
  u16(): number
  u32(): number
  /** A view of the next bytes; nothing is copied. */
  take(length: number): Buffer
  /** Passes over as many bytes as are there, up to `length`. */
  pass(length: number): void
}

/** A cursor at the start of `bytes`. */
export function cursorOver(bytes: Buffer): ByteCursor {
  let at = 0
  const take = (length: number) => {
    if (length > bytes.length - at) throw new RangeError(`${length} bytes at ${at} are more than there are`)
    at += length
    return bytes.subarray(at - length, at)
  }
  return {
    left: () => bytes.length - at,
    u16: () => take(2).readUInt16LE(),
    u32: () => take(4).readUInt32LE(),
    take,
    pass(length) {
      at = Math.min(at + length, bytes.length)
    },
  }
}
