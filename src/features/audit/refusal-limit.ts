import { type AuditEntry, resultOf } from '../../core/audit.ts'
import { MINUTE } from '../../core/units.ts'

/** Maximum number of entries about refused calls of one author per span of `SPAN` ms. */
const MOST = 20
const SPAN = 10 * MINUTE
/** Maximum number of authors that are remembered. */
const MOST_AUTHORS = 1_000

/**
 * Makes a function that limits the entries about refused calls, so that nobody without rights can
 * fill the audit log. Returns the entry to record, undefined for none. The last one of a span says
 * that others are left out.
 */
export function createRefusalLimit() {
  /** By author, those whose span began first at the front. */
  const spans = new Map<string, { end: number; count: number }>()
  return (entry: AuditEntry): AuditEntry | undefined => {
    // A denied approval is a decision of somebody who has the right to it.
    if (resultOf(entry) !== 'denied' || entry.outcome === 'approval_denied') return entry
    const { at, by } = entry
    const known = spans.get(by)
    const span = known && at < known.end ? known : { end: at + SPAN, count: 0 }
    span.count++
    if (span !== known) {
      spans.delete(by)
      spans.set(by, span)
      const [first] = spans.keys()
      if (spans.size > MOST_AUTHORS && first !== undefined) spans.delete(first)
    }
    if (span.count > MOST) return undefined
    if (span.count < MOST) return entry
    return { ...entry, error: `${entry.error ?? entry.outcome} · ${LEFT_OUT}` }
  }
}

const LEFT_OUT = `refused calls by this author in the rest of ${SPAN / MINUTE} minutes are not listed`
