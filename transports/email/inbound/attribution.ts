import { ATTRIBUTION_STARTS, ATTRIBUTION_VERBS, BLOCK_ROLES, type BlockRole } from './quote-words.ts'

/**
 * A line by which a client says who wrote what follows: "On … wrote:". One that is `sure` has an address in brackets and
 * the time, as machines write them. A person may write the others: they count only where a quote follows.
 */
export type Attribution = { lines: number; sure: boolean }

/** Nobody's attribution is longer, and clients wrap it into no more lines. */
const MAX_LENGTH = 400
const MAX_LINES = 4
const END = /(?:[:：]|-----)$/

/** The attributions among these lines, by the index of their first line. Takes linear time, whatever is in them. */
export function attributions(lines: readonly string[]): Map<number, Attribution> {
  const found = new Map<number, Attribution>()
  for (const [at, line] of lines.entries()) {
    if (line.length > MAX_LENGTH || !END.test(line)) continue
    const attribution = endingAt(lines, at)
    if (attribution) found.set(at - attribution.lines + 1, attribution)
  }
  return found
}

/** Of all ways to wrap it the one that starts as attributions do, else the shortest that is sure. */
function endingAt(lines: readonly string[], end: number): Attribution | undefined {
  let best: Attribution | undefined
  let joined = ''
  for (let count = 1; count <= MAX_LINES; count++) {
    const line = lines[end - count + 1]?.trim().toLowerCase()
    if (!line || line.startsWith('>')) break
    joined = joined === '' ? line : `${line} ${joined}`
    if (joined.length > MAX_LENGTH) break
    // Clients wrap after the bracket before an address; the line above belongs to it then.
    if (lines[end - count]?.endsWith('<')) continue
    const kind = kindOf(joined)
    const sure = kind === 'sure'
    if (kind && ATTRIBUTION_STARTS.some((start) => joined.startsWith(start))) return { lines: count, sure }
    if (kind && (!best || (sure && !best.sure))) best = { lines: count, sure }
  }
  return best
}

function kindOf(text: string): 'sure' | 'likely' | undefined {
  // Most lines with a colon are told apart by this.
  if (!/\d/.test(text) && !ATTRIBUTION_STARTS.some((start) => text.startsWith(start))) return undefined
  const hasVerb = ATTRIBUTION_VERBS.some((verb) => text.includes(verb))
  const hasAddressAndDate = text.indexOf('@') > 0 && /\d{4}|\d{1,2}[:.]\d{2}/.test(text)
  const isMachines = /<\s?[^\s<>]{1,254}@[^\s<>]{1,254}>/.test(text) && /\d{1,2}[:.]\d{2}/.test(text)
  if (isMachines && (hasVerb || /@[^<>]{1,254}>\s?[:：]$/.test(text))) return 'sure'
  return hasVerb || hasAddressAndDate ? 'likely' : undefined
}

/** Lines that are looked at: five headers, with an empty line after each, or some of them wrapped. */
const MAX_BLOCK = 14
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
  for (const line of lines.slice(start, start + MAX_BLOCK)) {
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
