import type { Line, Verdict } from './bench.ts'
import type { Figures } from './peer.ts'
import { medianInterval, ratios, spreadOf } from './statistics.ts'

/** A change may cost this much before the comparison fails. */
const SLOWER = 0.05

/** How this tree compares with the other commit, on one store. */
export function comparison(
  line: Pick<Line, 'row' | 'store'>,
  name: string,
  mine: readonly Figures[],
  others: readonly Figures[],
): Line[] {
  const cost = ratios(mine, others, 'cpu')
  const rate = ratios(mine, others, 'rate')
  return [
    {
      ...line,
      figure: `processor time / at ${name}`,
      unit: 'x',
      value: spreadOf(cost),
      reach: { most: 1 + SLOWER },
      verdict: verdictOf(cost),
    },
    {
      ...line,
      figure: `rate / at ${name}`,
      unit: 'x',
      value: spreadOf(rate),
      reach: { least: 1 - SLOWER },
      verdict: verdictOf(rate.map((value) => 1 / value)),
    },
  ]
}

/**
 * Slower: the costs are beyond the limit and certainly more than those of the other commit. Two copies of one commit
 * differ by as much in single rounds, so the interval of the median decides, not the median alone.
 */
function verdictOf(costs: readonly number[]): Verdict {
  const { median } = spreadOf(costs)
  const { low, high } = medianInterval(costs)
  if (high <= 1 + SLOWER) return 'not slower'
  return median > 1 + SLOWER && low > 1 ? 'slower' : 'undecided'
}
