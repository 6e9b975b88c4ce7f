import { BLOCK_ROLES, type BlockRole } from './quote-words.ts'

/** Lines that are looked at: five headers, with an empty line after each, or some of them wrapped. */
const MAX_LINES = 14
const MAX_NAME = 25

/**
 * True for the block of headers that Outlook and others put above what they quote: From, Sent, To and Subject, with an
 * address in it, or with when it was sent near its beginning. A person who writes "From: Berlin, To: London" means that.
 */
export function isHeaderBlock(lines: readonly string[], start: number): boolean {
  const role = fieldOf(lines[start])?.role
  if (role === undefined || role === 'to' || role === 'subject') return false
  const fields = headerFields(lines, start)
  if (fields.size < 4) return false
  const hasAddress = [...fields.values()].some((value) => value.includes('@'))
  return hasAddress || ([...fields.keys()][1] !== 'to' && /\d/.test(fields.get('sent') ?? ''))
}

/** The headers in the lines from `start` on: the first value of each, in the order in which they stand there. */
export function headerFields(lines: readonly string[], start: number): Map<BlockRole, string> {
  const fields = new Map<BlockRole, string>()
  let last: BlockRole | undefined
  let gap = 0
  for (const line of lines.slice(start, start + MAX_LINES)) {
    const field = fieldOf(line)
    if (field) {
      if (!fields.has(field.role)) fields.set(field.role, field.value)
      last = field.role
      gap = 0
    } else if (line.trim() === '') {
      if (++gap > 1) break
    } else if (gap > 0 || (last !== 'to' && last !== 'from')) break
    else if (last === 'from') fields.set('from', `${fields.get('from')} ${line}`)
  }
  return fields
}

function fieldOf(line: string | undefined): { role: BlockRole; value: string } | undefined {
  const colon = line?.search(/[:：]/) ?? -1
  if (!line || colon < 1 || colon > MAX_NAME) return undefined
  const name = line.slice(0, colon).replaceAll('*', '').trim().toLowerCase()
  const role = BLOCK_ROLES.get(name)
  return role && { role, value: line.slice(colon + 1) }
}
