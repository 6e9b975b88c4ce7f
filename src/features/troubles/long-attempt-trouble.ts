import type { Trouble } from '../../core/trouble.ts'
import { MINUTE } from '../../core/units.ts'
import { counted } from '../../lib/counted.ts'
import { defined } from '../../lib/defined.ts'
import type { RunningReading } from './readings.ts'
import { timeOfDay, warning } from './trouble-parts.ts'

/** A longer attempt (ms) is a trouble, even if others of its route take as long. */
const ALWAYS_LONG = 30 * MINUTE
/** A shorter attempt (ms) is no trouble if only the attempts of its route are known. */
const SHORT_FOR_ROUTE = 10 * MINUTE
/** Unusually long: this many times the duration of the longest recent attempt of the route. */
const UNUSUAL = 5
/** Also unusually long: this many times the p95 of the ended runs of the skill. */
const UNUSUAL_P95 = 10
/** A shorter attempt (ms) is no trouble, however long others took, or if no other one is known. */
export const ALWAYS_SHORT = 5 * MINUTE
/** A p95 of fewer runs says little. */
const MIN_RUNS = 5

/** An attempt that runs for much longer than those before it. `at`: Unix ms. */
export function longAttemptTrouble(reading: RunningReading, at: number): Trouble[] {
  const { gateway, road, route, skill, since, count, messageId } = reading
  if (at - since <= limitOf(reading)) return []
  const name = skill ? `the skill ${skill}` : route === '' ? gateway || 'a gateway' : `route ${route}`
  const trouble = {
    title: `An attempt for ${name} runs for unusually long`,
    text: [usualOf(reading), othersOf(reading), endOf(reading, at)].filter(Boolean).join(' '),
    todo: `Cancel it if it hangs: \`trivium run cancel ${messageId ?? 'ID'}\`. The \`timeout\` of a route limits its attempts.`,
    count,
    since,
  }
  const where = { gateway, road, ...(route !== '' && { reason: route }), ...defined({ skill, messageId }) }
  return [warning('attempt-hangs', where, trouble)]
}

function limitOf({ longest = 0, usual }: RunningReading): number {
  if (longest === 0 && usual === undefined) return ALWAYS_SHORT
  const ofRoute = Math.max(SHORT_FOR_ROUTE, UNUSUAL * longest)
  const ofSkill = isKnown(usual) ? Math.max(ALWAYS_SHORT, UNUSUAL_P95 * usual.p95) : ofRoute
  return Math.min(ALWAYS_LONG, ofRoute, ofSkill)
}

function isKnown(usual: RunningReading['usual']): usual is NonNullable<RunningReading['usual']> {
  return usual !== undefined && usual.runs >= MIN_RUNS
}

/** How long such attempts take. */
function usualOf({ longest = 0, usual }: RunningReading): string {
  const seconds = (ms: number) => counted(Math.ceil(ms / 1000), 'second')
  if (isKnown(usual)) return `95 % of its last ${usual.runs} runs took at most ${seconds(usual.p95)}.`
  if (longest > 0) return `The longest recent one took ${seconds(longest)}.`
  return 'There is no earlier attempt to compare it with.'
}

function othersOf({ count }: RunningReading): string {
  return count > 1 ? `${count - 1} more of this route ${count === 2 ? 'runs' : 'run'} on this daemon.` : ''
}

function endOf({ timeoutAt }: RunningReading, at: number): string {
  return timeoutAt !== undefined && timeoutAt > at ? `Its timeout ends it at ${timeOfDay(timeoutAt)}.` : ''
}
