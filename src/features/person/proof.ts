import { addCount } from '../../lib/name-counts.ts'
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

/**
 * How many more records than counted were erased, by their kind, or by place where it has no kinds;
 * negative for fewer. Empty if only the total of the count is known.
 */
export function sinceCount(
  before: { counts: Numbers; kinds: Readonly<Record<string, Numbers>> },
  erased: { counts: Numbers; kinds: Readonly<Record<string, Numbers>> },
): Record<string, number> {
  if (Object.keys(before.counts).length === 0) return {}
  const since: Record<string, number> = {}
  for (const place of new Set([...Object.keys(before.counts), ...Object.keys(erased.counts)])) {
    const [was, is] = [numbersOf(before, place), numbersOf(erased, place)]
    for (const name of new Set([...Object.keys(was), ...Object.keys(is)])) {
      const more = (is[name] ?? 0) - (was[name] ?? 0)
      if (more !== 0) addCount(since, name, more)
    }
  }
  return since
}

function numbersOf(
  { counts, kinds }: { counts: Numbers; kinds: Readonly<Record<string, Numbers>> },
  place: string,
): Numbers {
  return kinds[place] ?? { [place]: counts[place] ?? 0 }
}
