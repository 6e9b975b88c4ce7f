import { hash } from 'node:crypto'

/** Maximum number of words to examine. */
const MAX_WORDS = 1_500
/** A word belongs to a text if it appears there in the same run of this many words. */
const RUN = 3
/** Bits of the filter per run. */
const BITS = 12
/** Bits that a run sets. With these parameters, the false-positive rate is 1 in 200. */
const PROBES = 4

/**
 * A fingerprint of a text, in base64: a Bloom filter over its runs of three words. It takes a few
 * hundred bytes, and the text cannot be read from it. Undefined for short texts.
 */
export function fingerprintOf(text: string): string | undefined {
  const words = wordsIn(text)
  if (words.length < 2 * RUN) return undefined
  const filter = Buffer.alloc(Math.ceil((words.length * BITS) / 8))
  for (const run of runsOf(words)) {
    for (const bit of bitsOf(run, filter)) filter[bit >> 3] = (filter[bit >> 3] ?? 0) | (1 << (bit & 7))
  }
  return filter.toString('base64')
}

/**
 * Whether lines contain words that the text with this fingerprint does not. False if most words are
 * unknown: then the lines quote something else. Ignores links, which mail programs rewrite.
 */
export function hasOtherWords(lines: readonly string[], fingerprint: string): boolean {
  const filter = Buffer.from(fingerprint, 'base64')
  const words = wordsIn(lines.join('\n'))
  const known = new Set<number>()
  for (const [at, run] of runsOf(words).entries()) {
    if (!bitsOf(run, filter).every((bit) => ((filter[bit >> 3] ?? 0) >> (bit & 7)) & 1)) continue
    for (let index = at; index < at + RUN; index++) known.add(index)
  }
  return known.size < words.length && known.size > words.length / 2
}

function wordsIn(text: string): string[] {
  const parts = text.toLowerCase().split(/\s+/)
  const plain = parts.filter((part) => !part.includes('://') && !part.includes('@'))
  return plain.flatMap((part) => part.match(/[\p{L}\p{N}]+/gu) ?? []).slice(0, MAX_WORDS)
}

function runsOf(words: readonly string[]): string[] {
  return words.slice(RUN - 1).map((_, at) => words.slice(at, at + RUN).join(' '))
}

/** The positions in the filter of the bits that a run sets. */
function bitsOf(run: string, filter: Buffer): number[] {
  const digest = hash('sha256', run, 'buffer')
  return Array.from({ length: PROBES }, (_, at) => digest.readUInt32LE(4 * at) % (filter.length * 8))
}
