import { isInRange } from '../../core/attempt-range.ts'
import { timeOf } from '../../core/message-id.ts'
import type { CountedTimes, Journal } from '../../core/store.ts'
import { foldedTest } from '../../lib/fold-text.ts'
import { type Entry, idOf, parseHead, positionIn } from './codec.ts'
import { lastBefore } from './last-before.ts'
import type { Places } from './layout.ts'
import type { Lookup } from './lookup.ts'
import { nameTester, routeTester } from './query-tests.ts'
import { digest } from './roots.ts'
import type { Server } from './scripts.ts'

/** Number of entries per command. */
const SLICE = 500
/** Approximate duration (ms) of a count. */
const CALL_TIME = 250

/** Counts messages by the times in the heads of their entries, from the end of the journal. */
export function createCount(
  call: Server['call'],
  main: string,
  places: Places,
  { outcomes, routes, attempts, errors }: Lookup,
): Journal['countByTime'] {
  return async (query, width, byRoute = false) => {
    const { gateways, withoutGateways, conversation, outcomes: wanted, since = 0, until } = query
    const deadline = performance.now() + CALL_TIME
    const counts = new Map<string, CountedTimes['counts'][number]>()
    const spanOf = (time: number) => Math.floor(time / width) * width
    const ofConversation = conversation === undefined ? undefined : digest(conversation)
    const own = conversation === undefined ? undefined : places.placeOf(conversation)
    const isNamed = nameTester(query.conversationName, places)
    const hasError = query.error === undefined ? undefined : foldedTest(query.error)
    const takes = routeTester(query)
    const matches = (entry: Entry) => {
      const head = parseHead(entry[1][1])
      if (head.time < since || head.time >= (until ?? Number.POSITIVE_INFINITY)) return false
      if (gateways && !gateways.includes(head.gateway)) return false
      if (withoutGateways?.includes(head.gateway)) return false
      if (!isNamed(entry, head)) return false
      return ofConversation === undefined || head.conversation === ofConversation || positionIn(entry) === own
    }
    const sorted = () => [...counts.values()].sort((a, b) => b.at - a.at)

    /** The first `countedTo`: the span that ends here is complete once `countedTo` is lower. */
    let firstEnd: number | undefined
    const end =
      until === undefined ? Number.MAX_SAFE_INTEGER : await lastBefore(call, main, ({ time }) => time < until)
    for (let from = end; from > 0; ) {
      const entries = await call<Entry[]>('XREVRANGE', `${main}journal`, `${from}-0`, '-', 'COUNT', SLICE)
      const ids = entries.filter(matches).map((entry) => idOf(entry, places))
      const found = wanted ? await outcomes(ids) : []
      const taken = takes || byRoute ? await routes(ids) : undefined
      const tried = query.attempts && (await attempts(ids))
      const failed = hasError && (await errors(ids))
      for (const [index, id] of ids.entries()) {
        const outcome = found[index]
        if (wanted && !(outcome && wanted.includes(outcome))) continue
        if (takes && !takes(taken?.[index])) continue
        if (query.attempts && !isInRange(tried?.[index] ?? 0, query.attempts)) continue
        if (hasError && !hasError(failed?.[index])) continue
        const at = spanOf(timeOf(id))
        const route = byRoute ? taken?.[index] : undefined
        const key = `${at} ${route ?? ''}`
        const known = counts.get(key) ?? { at, count: 0, ...(route && { route }) }
        known.count++
        counts.set(key, known)
      }
      const last = entries.at(-1)
      if (!last || entries.length < SLICE) break
      const { time } = parseHead(last[1][1])
      if (time < since) break
      // The span of the last entry may be incomplete.
      const countedTo = spanOf(time) + width
      firstEnd ??= countedTo
      if (performance.now() > deadline && countedTo < firstEnd) {
        for (const [key, { at }] of counts) if (at < countedTo) counts.delete(key)
        return { counts: sorted(), countedTo }
      }
      from = positionIn(last) - 1
    }
    return { counts: sorted() }
  }
}
