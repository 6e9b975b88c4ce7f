import { createHash } from 'node:crypto'

const LONGEST = 180

/**
 * A file name for any key: readable, different for different keys also where the file system ignores case,
 * never hidden, never outside of its folder. Small letters, digits, `-`, `_` and inner dots stay; everything else is
 * percent-encoded; a long name ends in a hash.
 */
export function fileNameOf(key: string): string {
  let name = ''
  for (const byte of Buffer.from(key)) {
    const char = String.fromCharCode(byte)
    const plain = /[a-z0-9_-]/.test(char) || (char === '.' && name !== '')
    name += plain ? char : `%${byte.toString(16).padStart(2, '0')}`
  }
  // UTF-8 has no lone surrogates: what differs only there would become the same.
  if (!key.isWellFormed()) return `${name.slice(0, LONGEST - 65)}~${hashOf(Buffer.from(key, 'utf16le'))}.json`
  if (name.length <= LONGEST) return `${name}.json`
  return `${name.slice(0, LONGEST - 65)}~${hashOf(Buffer.from(key))}.json`
}

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
