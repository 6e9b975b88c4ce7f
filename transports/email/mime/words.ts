import { decodeText } from './charset.ts'

/**
 * An encoded word (RFC 2047). Matches in linear time, because each part ends at the next question
 * mark.
 */
const WORD = /=\?([^?\s]+)\?([qb])\?([^?]*)\?=/gi
const BLANK = /^[ \t\r\n]*$/

type Word = { charset: string; encoding: string; payload: string }

/** Decodes the encoded words of a header value. */
export function decodeWords(value: string): string {
  return mapWords(value, decodeRun)
}

/**
 * Makes one UTF-8 word of each run of encoded words. Encoded commas and brackets stay encoded, so
 * that an address list keeps its structure.
 */
export function toUtf8Words(value: string): string {
  return mapWords(value, (run) => `=?utf-8?B?${Buffer.from(decodeRun(run)).toString('base64')}?=`)
}

/**
 * Decodes encoded words in message ids. Keeps underscores: some programs do not escape them in
 * encoded words, and ids contain no spaces.
 */
export function decodeIdWords(value: string): string {
  return mapWords(value, (run) =>
    decodeRun(run.map((word) => ({ ...word, payload: word.payload.replaceAll('_', '=5F') }))),
  )
}

/**
 * Replaces runs of encoded words. Spaces between them belong to the encoding (RFC 2047, section
 * 6.2).
 */
function mapWords(value: string, replace: (run: readonly Word[]) => string): string {
  if (!value.includes('=?')) return value
  const pieces: string[] = []
  let run: Word[] = []
  let end = 0
  const flush = () => {
    if (run.length > 0) pieces.push(replace(run))
    run = []
  }
  for (const found of value.matchAll(WORD)) {
    const [all, charset = '', encoding = '', payload = ''] = found
    const between = value.slice(end, found.index)
    if (run.length === 0 || !BLANK.test(between)) {
      flush()
      pieces.push(between)
    }
    run.push({ charset: charset.toLowerCase(), encoding: encoding.toLowerCase(), payload })
    end = found.index + all.length
  }
  flush()
  pieces.push(value.slice(end))
  return pieces.join('')
}

function decodeRun(run: readonly Word[]): string {
  const groups: Word[][] = []
  for (const word of run) {
    const last = groups.at(-1)
    if (last?.[0]?.charset === word.charset) last.push(word)
    else groups.push([word])
  }
  return groups.map(decodeGroup).join('')
}

/**
 * Decodes words in the same charset. Joins their bytes first, because a character may span two
 * words.
 */
function decodeGroup(group: readonly Word[]): string {
  const charset = group[0]?.charset
  const parts: Buffer[] = []
  /** Base64 that some programs continue in the next word. */
  let base64 = ''
  for (const { encoding, payload } of group) {
    if (encoding === 'b') {
      base64 += payload
      if (payload.length % 4 !== 0 && !payload.endsWith('=')) continue
    }
    if (base64 !== '') parts.push(Buffer.from(base64, 'base64'))
    base64 = ''
    if (encoding === 'q') parts.push(bytesOfQ(payload))
  }
  if (base64 !== '') parts.push(Buffer.from(base64, 'base64'))
  const text = decodeText(Buffer.concat(parts), charset)
  // If the joined bytes are not valid, each word may be complete, with its own shift state for
  // example.
  return text.includes('\ufffd') ? parts.map((part) => decodeText(part, charset)).join('') : text
}

/** The bytes of a Q-encoded word (RFC 2047, section 4.2). */
function bytesOfQ(payload: string): Buffer {
  const binary = Buffer.from(payload.replaceAll('_', ' ')).toString('latin1')
  // Some programs fold the header after the "=".
  const bytes = binary.replaceAll(/=\s*([\da-f]{2})/gi, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )
  return Buffer.from(bytes, 'latin1')
}
