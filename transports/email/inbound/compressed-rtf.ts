import { crc32 } from 'node:zlib'

const HEADER = 16
const COMPRESSED = 0x75465a4c
const UNCOMPRESSED = 0x414c454d
const WINDOW = 4096
/** What the window holds before the first byte, so that common words need not be sent. */
const BEGINNING = Buffer.from(
  '{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor ' +
    'MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par ' +
    '\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx',
  'latin1',
)

/**
 * The RTF in a PidTagRtfCompressed ([MS-OXRTFCP]). Undefined for what is damaged, or has more than `limit` bytes.
 * Never throws; the result is at most nine times the input.
 */
export function decompressRtf(bytes: Buffer, limit: number): Buffer | undefined {
  if (bytes.length < HEADER) return undefined
  const size = bytes.readUInt32LE(4)
  const type = bytes.readUInt32LE(8)
  const body = bytes.subarray(HEADER, 4 + bytes.readUInt32LE(0))
  if (size > limit) return undefined
  if (type === UNCOMPRESSED) return body.length >= size ? body.subarray(0, size) : undefined
  if (type !== COMPRESSED || checksum(body) !== bytes.readUInt32LE(12)) return undefined
  return expand(body, Math.min(size, 9 * body.length))
}

/** A CRC without the inversions at both ends that zlib's has ([MS-OXRTFCP], section 2.1.3.1.2). */
function checksum(bytes: Buffer): number {
  return (crc32(bytes, 0xffffffff) ^ 0xffffffff) >>> 0
}

/** Literal bytes and references into a window, eight of them behind each control byte. Undefined without an end. */
function expand(bytes: Buffer, size: number): Buffer | undefined {
  const window = Buffer.alloc(WINDOW)
  let to = BEGINNING.copy(window)
  const out = Buffer.alloc(size)
  let written = 0
  const write = (byte: number) => {
    window[to] = byte
    to = (to + 1) % WINDOW
    if (written < size) out[written++] = byte
  }
  for (let at = 0; at < bytes.length; ) {
    const control = bytes[at++] ?? 0
    for (let bit = 0; bit < 8 && at < bytes.length; bit++) {
      if ((control & (1 << bit)) === 0) {
        write(bytes[at++] ?? 0)
        continue
      }
      if (at + 2 > bytes.length) return undefined
      const reference = bytes.readUInt16BE(at)
      at += 2
      const from = reference >> 4
      if (from === to) return out.subarray(0, written)
      for (let index = 0; index < (reference & 15) + 2; index++) write(window[(from + index) % WINDOW] ?? 0)
    }
  }
  return undefined
}
