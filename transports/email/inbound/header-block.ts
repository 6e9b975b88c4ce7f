import { BLOCK_ROLES, type BlockRole } from './quote-words.ts'

/**
 * Maximum lines of a header block: five headers with empty lines in between, or some of them
 * wrapped.
 */
export const MAX_BLOCK = 14
/** Maximum characters of a header name. */
const MAX_NAME = 25
/** Maximum number of spaces and marks around a header name. */
const MAX_INDENT = 10
/** Maximum number of headers with other names (Cc, Reply-To, Importance). */
const MAX_OTHERS = 3
/** Bold marks, and the direction marks that Windows Mail puts into dates. */
const DECORATION = /[*\u200e\u200f\u202a-\u202e]/g

type Block = { fields: Map<BlockRole, string>; length: number }

/**
 * Whether the block of headers above a quote starts here, as written by Outlook and others: From,
 * Sent, To and Subject, with an address, or with the time near its beginning. "From: Berlin, To:
 * London" of a person does not count.
 */
export function isHeaderBlock(lines: readonly string[], start: number): boolean {
  const role = fieldOf(lines[start])?.role
  if (role === undefined || role === 'to' || role === 'subject') return false
  const { fields } = headerBlock(lines, start)
  const hasAddress = [...fields.values()].some((value) => value.includes('@'))
  const sent = fields.get('sent') ?? ''
  // Windows Mail omits an empty subject.
  if (fields.size === 3) return fields.has('from') && hasAddress && /\d[:.]\d{2}/.test(sent)
  if (fields.size < 4) return false
  return hasAddress || ([...fields.keys()][1] !== 'to' && /\d/.test(sent))
}

/** The headers from `start` on, in their order. */
export function headerFields(lines: readonly string[], start: number): Map<BlockRole, string> {
  return headerBlock(lines, start).fields
}

/** The headers from `start` on, and their number of lines. */
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
    else if (last === 'from' && !hasName(line)) fields.set('from', `${fields.get('from')} ${line}`)
    // Only a wrapped list of recipients, or another header, continues the block.
    else if (last !== 'to' && (!hasName(line) || ++others > MAX_OTHERS)) break
    length = at + 1
  }
  return { fields, length }
}

/** Whether a line begins like a header: `Name:`. */
function hasName(line: string): boolean {
  return /^\s*\*?\p{L}[\p{L} -]{1,24}\s?[:：]/u.test(line)
}

function fieldOf(line: string | undefined): { role: BlockRole; value: string } | undefined {
  const colon = line?.search(/[:：]/) ?? -1
  if (!line || colon < 1 || colon > MAX_NAME + MAX_INDENT) return undefined
  const name = line.slice(0, colon).replaceAll(DECORATION, '').trim().toLowerCase()
  const role = BLOCK_ROLES.get(name)
  return role && { role, value: line.slice(colon + 1).replaceAll(DECORATION, '') }
}
