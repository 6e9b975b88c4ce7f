import { countedOpen, openCounts } from '../../lib/open-kinds.ts'

type Numbers = Readonly<Record<string, number>>

/**
 * What an erasure erased, in words without personal data, for the audit log: `records 3 (approvals
 * 1, digests 2)`, and what of it was open. The log is kept longer than the job.
 */
export function proofOf(of: { counts: Numbers; kinds: Readonly<Record<string, Numbers>>; open: Numbers }) {
  const places = listed(of.counts, (place) => {
    const kinds = listed(of.kinds[place] ?? {})
    return kinds.length === 0 ? '' : ` (${kinds.join(', ')})`
  })
  const open = openCounts(of.open).map(({ kind, count }) => countedOpen(kind, count))
  return {
    ...(places.length > 0 && { erased: places.join(', ') }),
    ...(open.length > 0 && { open: open.join(', ') }),
  }
}

function listed(counts: Numbers, more: (name: string) => string = () => ''): string[] {
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${name} ${count}${more(name)}`)
}
