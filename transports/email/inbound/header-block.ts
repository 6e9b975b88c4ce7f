import { BLOCK_ROLES, type BlockRole } from './quote-words.ts'

/** Lines that are looked at: five headers, with an empty line after each, or some of them wrapped. */
const MAX_BLOCK = 14
const MAX_NAME = 25
const MAX_OTHERS = 3
const MAX_INDENT = 10
/** Bold, and the marks of the writing direction that Windows Mail puts around each part of a date. */
const DECORATION = /[*\u200e\u200f\u202a-\u202e]/g

type Block = { fields: Map<BlockRole, string>; length: number }

/**
 * True for the block of headers that Outlook and others put above what they quote: From, Sent, To and Subject, with an
 * address in it, or with when it was sent near its beginning. A person who writes "From: Berlin, To: London" means that.
 */
export function isHeaderBlock(lines: readonly string[], start: number): boolean {
  const role = fieldOf(lines[start])?.role
  if (role === undefined || role === 'to' || role === 'subject') return false
  const { fields } = headerBlock(lines, start)
  const hasAddress = [...fields.values()].some((value) => value.includes('@'))
  const sent = fields.get('sent') ?? ''
  // Without a subject Windows Mail leaves its line out.
  if (fields.size === 3) return fields.has('from') && hasAddress && /\d[:.]\d{2}/.test(sent)
  if (fields.size < 4) return false
  return hasAddress || ([...fields.keys()][1] !== 'to' && /\d/.test(sent))
}

/** The headers in the lines from `start` on, in the order in which they stand there. */
export function headerFields(lines: readonly string[], start: number): Map<BlockRole, string> {
  return headerBlock(lines, start).fields
}

/** The headers from `start` on, and the number of lines that they take. */
export function headerBlock(lines: readonly string[], start: number): Block {
  const fields = new Map<BlockRole, string>()
  let last: BlockRole | undefined
  let gap = 0
  let others = 0
  let length = 0
  for (const [at, line] of lines.slice(start, start + MAX_BLOCK).entries()) {
    const field = fieldOf(line)
    if (field) {
      if (fields.has(field.role)) break
      fields.set(field.role, field.value)
      last = field.role
      gap = 0
    } else if (line.trim() === '') {
      if (++gap > 1) break
      continue
    } else if (gap > 0) break
    else if (last === 'from' && !isNamed(line)) fields.set('from', `${fields.get('from')} ${line}`)
    // A wrapped list of recipients, or a header of which nothing is needed (Cc, Reply-To, Importance).
    else if (last !== 'to' && (!isNamed(line) || ++others > MAX_OTHERS)) break
    length = at + 1
  }
  return { fields, length }
}

function isNamed(line: string): boolean {
  return /^\s*\*?\p{L}[\p{L} -]{1,24}\s?[:：]/u.test(line)
}

function fieldOf(line: string | undefined): { role: BlockRole; value: string } | undefined {
  const colon = line?.search(/[:：]/) ?? -1
  if (!line || colon < 1 || colon > MAX_NAME + MAX_INDENT) return undefined
  const name = line.slice(0, colon).replaceAll(DECORATION, '').trim().toLowerCase()
  const role = BLOCK_ROLES.get(name)
  return role && { role, value: line.slice(colon + 1).replaceAll(DECORATION, '') }
}
