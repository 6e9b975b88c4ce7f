import type { Call } from '../core/call.ts'
import { isStoreAway } from '../core/reachable.ts'
import { HOUR, MINUTE } from '../core/units.ts'
import { defined } from '../lib/defined.ts'
import type { createHistogram, MessageCounts } from './histogram.ts'
import { REFUSALS_COUNTED_FOR, type RefusalHistory } from './refusal-history.ts'

/** Approximate number of spans. */
const SPANS = 75

/** The outcomes of messages that failed. */
const FAILED = ['dead', 'undelivered'] as const

/** `width`: of a span (ms), to continue a previous call. Times in Unix ms. */
export type HistoryRange = {
  since?: number | undefined
  until?: number | undefined
  width?: number | undefined
}

/**
 * The history of a gateway in equal spans, oldest first: messages and failed ones by arrival, from
 * the journal, and refused deliveries. Messages before `countedTo` are not counted yet: call again
 * with that as `until`, and `width`. Refusals before `refusalsFrom` are not known. `away`: shards
 * that cannot be reached.
 */
export function createGatewayHistory(deps: {
  countMessages: ReturnType<typeof createHistogram>['countMessages']
  refusals: Pick<RefusalHistory, 'counts'>
  now(): number
}) {
  const { countMessages, refusals, now } = deps
  return async (gateway: string, { since, until, width: given }: HistoryRange, call: Call) => {
    const end = Math.min(until ?? now(), now())
    const begin = Math.min(since ?? end - HOUR, end - MINUTE)
    // Refusals are counted by minute.
    const wanted = given ?? Math.max(MINUTE, (end - begin) / SPANS)
    const filter = { gateway, since: begin, until: end, buckets: SPANS, ...widthOf(wanted, given) }
    const all = await countMessages(filter, call)
    const { from, width } = all
    const failed = await countMessages({ ...filter, width, outcome: [...FAILED] }, call)
    const spans = all.counts.length
    const refused = await refusals.counts(gateway, { from, width, spans }).catch(noneIfAway)
    const known = refused ? now() - REFUSALS_COUNTED_FOR : end
    const away = new Set([...(all.away ?? []), ...(failed.away ?? [])])
    const countedTo = Math.max(all.countedTo ?? 0, failed.countedTo ?? 0)
    // One of the counts may go further back. The next call counts these messages again.
    const countsOf = ({ counts }: MessageCounts) =>
      all.counts.map((_, at) => (from + at * width < countedTo ? 0 : (counts[at] ?? 0)))
    return {
      from,
      width,
      accepted: countsOf(all),
      failed: countsOf(failed),
      refused: refused ?? all.counts.map(() => 0),
      ...defined({
        countedTo: countedTo > 0 ? countedTo : undefined,
        refusalsFrom: from + width < known ? known : undefined,
        away: away.size > 0 ? [...away] : undefined,
      }),
    }
  }
}

/** Refusals may be on a shard that cannot be reached, while messages are on others. */
function noneIfAway(error: unknown): undefined {
  if (!isStoreAway(error)) throw error
}

/** The histogram chooses a round width, unless that would be less than a minute. */
function widthOf(wanted: number, given: number | undefined): { width?: number } {
  if (given !== undefined) return { width: given }
  return wanted <= MINUTE ? { width: MINUTE } : {}
}
