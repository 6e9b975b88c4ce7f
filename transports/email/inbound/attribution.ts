import { ATTRIBUTION_STARTS, ATTRIBUTION_VERBS } from './quote-words.ts'

/**
 * A line by which a client says who wrote what follows: "On … wrote:". One that is `sure` has an address in brackets and
 * the time, as machines write them. A person may write the others: they count only where a quote follows.
 */
export type Attribution = { lines: number; sure: boolean }

/** Nobody's attribution is longer, and clients wrap it into no more lines. */
const MAX_LENGTH = 400
const MAX_LINES = 4

/** The attributions among these lines, by the index of their first line. Takes linear time, whatever is in them. */
export function attributions(lines: readonly string[]): Map<number, Attribution> {
  const found = new Map<number, Attribution>()
  for (const [at, line] of lines.entries()) {
    if (!isEnd(line)) continue
    const attribution = endingAt(lines, at)
    if (attribution) found.set(at - attribution.lines + 1, attribution)
  }
  return found
}

function isEnd(line: string): boolean {
  return line.length <= MAX_LENGTH && (line.endsWith(':') || line.endsWith('：') || line.endsWith('-----'))
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
