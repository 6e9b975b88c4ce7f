import type { Line, Verdict } from './bench.ts'
import type { Figures } from './peer.ts'
import { medianInterval, ratios, spreadOf } from './statistics.ts'

/** How much slower a commit may be before the comparison fails: 5 %. */
const MAX_SLOWDOWN = 0.05

/** The lines that compare this commit with the other one (`name`), on one store. */
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
      target: { most: 1 + MAX_SLOWDOWN },
      verdict: verdictOf(cost),
    },
    {
      ...line,
      figure: `rate / at ${name}`,
      unit: 'x',
      value: spreadOf(rate),
      target: { least: 1 - MAX_SLOWDOWN },
      verdict: verdictOf(rate.map((value) => 1 / value)),
    },
  ]
}

/**
 * The verdict for the ratios of this commit's costs to those of the other commit. Single rounds of
 * the same commit differ by more than the limit, so the confidence interval of the median decides,
 * not the median alone.
 */
function verdictOf(costs: readonly number[]): Verdict {
  const { median } = spreadOf(costs)
  const { low, high } = medianInterval(costs)
  if (high <= 1 + MAX_SLOWDOWN) return 'not slower'
  return median > 1 + MAX_SLOWDOWN && low > 1 ? 'slower' : 'undecided'
}
