import { mayLoseNumber, quoteExact } from '../../lib/exact-json.ts'

/** Prefix of JSON data in an event stream. */
const DATA = 'data:'
const NEWLINE = 10
const NOTHING = Buffer.alloc(0)

/**
 * Preserves the digits of numbers that the library would round, by quoting such numbers in JSON and
 * in event data. `add` returns the complete lines so far, and `rest` the text after the last line.
 * A line over `limit` bytes is passed on in pieces, and refused by others.
 */
export function createExactLines(limit: number) {
  let pending: Buffer[] = []
  let size = 0
  const take = () => {
    const all = Buffer.concat(pending)
    pending = []
    size = 0
    return all
  }
  return {
    add(chunk: Uint8Array): Buffer {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      const end = bytes.lastIndexOf(NEWLINE) + 1
      if (end === 0) {
        pending.push(bytes)
        size += bytes.length
        return size > limit ? take() : NOTHING
      }
      pending.push(bytes.subarray(0, end))
      const lines = exactText(take())
      if (end < bytes.length) {
        pending.push(bytes.subarray(end))
        size = bytes.length - end
      }
      return lines
    },
    rest: () => exactText(take()),
  }
}

function exactText(lines: Buffer): Buffer {
  const text = lines.toString()
  return mayLoseNumber(text) ? Buffer.from(text.split('\n').map(exactLine).join('\n')) : lines
}

function exactLine(line: string): string {
  return line.startsWith(DATA) ? DATA + quoteExact(line.slice(DATA.length)) : quoteExact(line)
}
