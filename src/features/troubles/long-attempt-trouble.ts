import type { Trouble } from '../../core/trouble.ts'
import { MINUTE } from '../../core/units.ts'
import { counted } from '../../lib/counted.ts'
import type { RunningReading } from './readings.ts'
import { warning } from './trouble-parts.ts'

/** An attempt that runs for longer (ms) is a trouble, also if others of its route take as long. */
const LONGEST = 30 * MINUTE
/** A shorter attempt (ms) is none. */
const SHORTEST = 10 * MINUTE
/** Times the longest recent attempt of the route from which an attempt is unusually long. */
const UNUSUAL = 5

/** An attempt that runs for much longer than those before it. `at`: Unix ms. */
export function longAttemptTrouble(
  { gateway, road, route, since, count, longest = 0 }: RunningReading,
  at: number,
): Trouble[] {
  const limit = Math.min(LONGEST, Math.max(SHORTEST, UNUSUAL * longest))
  if (at - since <= limit) return []
  const name = route === '' ? gateway || 'a gateway' : `route ${route}`
  const usual =
    longest > 0
      ? `The longest recent one took ${counted(Math.ceil(longest / 1000), 'second')}.`
      : 'No other one has ended since this daemon started.'
  const trouble = {
    title: `An attempt for ${name} runs for unusually long`,
    text: `${counted(count, 'attempt runs', 'attempts run')} on this daemon. ${usual}`,
    todo: 'See what it does; `trivium run cancel ID` ends it, and `timeout` of the route limits all.',
    count,
    since,
  }
  const where = { gateway, road, ...(route !== '' && { reason: route }) }
  return [warning('attempt-hangs', where, trouble)]
}
