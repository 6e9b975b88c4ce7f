import type { Line } from './bench.ts'
import type { Figures } from './peer.ts'
import { ratio } from './statistics.ts'

/** A change may cost this much before the comparison fails. */
const SLOWER = 0.05

/** How this tree stands beside the other commit, on one store. */
export function comparison(
  line: Pick<Line, 'row' | 'store'>,
  name: string,
  mine: readonly Figures[],
  others: readonly Figures[],
): Line[] {
  const guard = (figure: string, value: Line['value'], reach: Line['reach']): Line => ({
    ...line,
    figure: `${figure} / at ${name}`,
    unit: 'x',
    value,
    ...(reach && { reach }),
    isGuard: true,
  })
  return [
    guard('processor time', ratio(mine, others, 'cpu'), { most: 1 + SLOWER }),
    guard('rate', ratio(mine, others, 'rate'), { least: 1 - SLOWER }),
  ]
}
