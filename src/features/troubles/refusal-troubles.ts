import type { Trouble } from '../../core/trouble.ts'
import type { RefusalCount } from '../../engine/refusal-tally.ts'
import { counted } from '../../lib/counted.ts'
import { type RefusalVerdict, verdictOf } from './refusal-verdicts.ts'
import { error, timeOfDay, warning } from './trouble-parts.ts'

/** Number of refusals per hour that is a trouble; fewer are enough if nothing else is accepted. */
const MANY = 10
const FEW = 3
/** Intended refusals of senders, noise of scanners, a daemon that stops, and those covered by `store-down`. `TriviumRefuses` ignores them too. */
const INTENDED = /^(sender|authentication|method_not_allowed|stopping|store_unavailable)$/

/** Refusals that need attention, grouped by gateway and reason. */
export function refusalTroubles(counts: readonly RefusalCount[]): Trouble[] {
  return counts
    .filter(({ reason }) => !INTENDED.test(reason))
    .map(verdictOf)
    .filter(({ count, share }) => count >= MANY || (count >= FEW && share === 1))
    .map(refusalTrouble)
}

function refusalTrouble(verdict: RefusalVerdict): Trouble {
  const { gateway, reason, count, share, since, lastGoodAt, likely, todo, why, cause } = verdict
  const isNoGateway = cause === 'mistyped-address'
  const title = isNoGateway
    ? `${counted(count, 'request')} for paths without a gateway`
    : `Gateway ${gateway} refuses ${shareText(share)}`
  // Without one, the likely cause says so.
  const good =
    lastGoodAt === undefined
      ? []
      : [
          `The last accepted delivery was on ${new Date(lastGoodAt).toISOString().slice(0, 10)} ${timeOfDay(lastGoodAt)}.`,
        ]
  const all = counted(count + verdict.accepted, 'delivery', 'deliveries')
  const shareSeen = isNoGateway ? counted(count, 'request') : `${count} of ${all}`
  const seen = `${shareSeen} since ${timeOfDay(since)} refused (${reason}): ${reasonFor(why[0]?.name, gateway)}`
  const text = [`${withPeriod(seen)}`, ...(isNoGateway ? [] : good), likely].join(' ')
  const where = { gateway, reason }
  const isStuck = cause === 'rotated-secret' || cause === 'wrong-secret' || cause === 'clock-skew'
  const make = isStuck && share === 1 ? error : warning
  return make('refusals', where, { title, text, todo, count, since })
}

/** The title names the gateway. */
function reasonFor(why = 'no reason given', gateway: string): string {
  return why.replace(`The signature check of gateway ${gateway} failed: `, '')
}

/** In steps, so that the title does not change with each delivery. */
function shareText(share: number): string {
  if (share === 1) return 'every delivery'
  return share >= 0.5 ? 'most deliveries' : 'some deliveries'
}

function withPeriod(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
