import { timeOf } from '../core/message-id.ts'
import { type MessageQuery, needsContent } from '../core/message-query.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { CountedTimes, MessageSearch, Store } from '../core/store.ts'
import { DAY, HOUR, MINUTE } from '../core/units.ts'
import { defined } from '../lib/defined.ts'
import { failedTimes } from './failed-times.ts'
import type { messages } from './operations/messages.ts'
import { searchOf } from './search.ts'
import type { WithMails } from './undelivered-mails.ts'

const SECOND = 1_000
/** Minimum and maximum length (ms) of the period of a histogram. */
const SHORTEST_PERIOD = SECOND
const LONGEST_PERIOD = 400 * DAY
/** Possible widths (ms) of a bar, so that bars begin at round times. */
const WIDTHS = [
  ...[1, 2, 5, 10, 15, 30].map((each) => each * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((each) => each * MINUTE),
  ...[1, 2, 3, 6, 12].map((each) => each * HOUR),
  ...[1, 2, 7, 14, 28].map((each) => each * DAY),
]
/** Maximum number of bars with a width that the caller gave. */
const MOST_BARS = 2_000
/** Approximate duration (ms) of a call. */
const CALL_TIME = 500
/** Number of messages per read of the journal. */
const PAGE = 500

/** The number of messages in each span of `width` ms from `from` (Unix ms) on. */
export type MessageCounts = {
  from: number
  width: number
  counts: number[]
  total: number
  /** The messages of each route, if asked for. Absent for a search of contents. */
  routes?: { route: string; count: number }[]
  /** Messages before this time are not counted yet. */
  countedTo?: number
  /** Shards that cannot be reached. */
  away?: readonly number[]
}

type Args = Parameters<ServiceOf<typeof messages>['histogram']>

/**
 * Counts messages by arrival time. `histogram` has the failed ones too, unless it continues an
 * earlier call (`width`), which has all of them.
 */
export function createHistogram(
  store: Pick<Store, 'journal' | 'stats' | 'jobs'>,
  now: () => number,
  withMails?: WithMails,
) {
  const count = async (
    { buckets, width: given = 0, routes: byRoute = false, ...filter }: Args[0],
    { caller }: Args[1],
  ) => {
    const query = searchOf(filter, caller)
    const until = Math.min(query.until ?? Number.MAX_SAFE_INTEGER, now() + 1)
    const isBounded = caller.gateways !== undefined
    const since = Math.min(
      query.since
        ? Math.max(query.since, until - LONGEST_PERIOD)
        : await oldestOf(store, query, until, isBounded),
      until - SHORTEST_PERIOD,
    )
    const fitting = WIDTHS.find((each) => (until - since) / each <= buckets) ?? 28 * DAY
    const width = (until - since) / given <= MOST_BARS ? given : fitting
    const from = Math.floor(since / width) * width
    const search = { ...query, since: Math.max(query.since ?? 0, from), until }
    const { counts: found, countedTo, away } = await countAll(store.journal, search, width, byRoute)
    const mails = await undeliveredMails(store.journal, search, countedTo, withMails)
    const counts = barsOf(mails, { from, width, bars: Math.ceil((until - from) / width) })
    for (const { at, count } of found) {
      const bar = Math.round((at - from) / width)
      counts[bar] = (counts[bar] ?? 0) + count
    }
    const total = found.reduce((sum, { count }) => sum + count, mails.length)
    const isCut = countedTo !== undefined && countedTo > from
    const counted: MessageCounts = {
      from,
      width,
      counts,
      total,
      ...(byRoute && !needsContent(search) && { routes: sumsByRoute(found) }),
      ...(isCut && { countedTo }),
      ...defined({ away }),
    }
    return { counted, search }
  }
  const histogram: ServiceOf<typeof messages>['histogram'] = async (args, call) => {
    const { counted, search } = await count(args, call)
    if (args.width !== undefined) return counted
    const { times, knownFrom } = await failedTimes(store.jobs.deadLetters, search)
    const { from, width, counts } = counted
    const failed = barsOf(times, { from, width, bars: counts.length })
    const isPart = knownFrom !== undefined && knownFrom > from
    return { ...counted, failed, ...(isPart && { failedFrom: knownFrom }) }
  }
  return { histogram, countMessages: async (...args: Args) => (await count(...args)).counted }
}

/** The messages of each route, most first. */
function sumsByRoute(counts: CountedTimes['counts']) {
  const sums = new Map<string, number>()
  for (const { route, count } of counts)
    if (route !== undefined) sums.set(route, (sums.get(route) ?? 0) + count)
  return [...sums].map(([route, count]) => ({ route, count })).sort((a, b) => b.count - a.count)
}

/** The number of times in each bar. */
function barsOf(
  times: readonly number[],
  { from, width, bars }: { from: number; width: number; bars: number },
) {
  const counts = Array.from({ length: bars }, () => 0)
  for (const at of times) {
    const bar = Math.floor((at - from) / width)
    if (bar >= 0 && bar < bars) counts[bar] = (counts[bar] ?? 0) + 1
  }
  return counts
}

/**
 * The times of messages that are undelivered because of a later mail, from `countedTo` on, without
 * those that the store has counted by the outcome that it knows.
 */
async function undeliveredMails(
  journal: Pick<Store['journal'], 'outcomesIfReachable'>,
  search: Search,
  countedTo = 0,
  withMails?: WithMails,
): Promise<number[]> {
  const { outcomes } = search
  if (!withMails || !outcomes?.includes('undelivered')) return []
  const { found } = await withMails({ ...search, limit: PAGE }, { found: [] })
  const ids = found.map(({ message }) => message.id)
  const stored = await journal.outcomesIfReachable(ids)
  const isCounted = (index: number) => outcomes.some((outcome) => outcome === stored[index])
  return ids.filter((id, index) => !isCounted(index) && timeOf(id) >= countedTo).map(timeOf)
}

/**
 * When the oldest message arrived. For a caller with access to some gateways: the oldest visible
 * one, rounded down to the hour.
 */
async function oldestOf(
  { journal, stats }: Pick<Store, 'journal' | 'stats'>,
  query: MessageQuery,
  until: number,
  isBounded: boolean,
): Promise<number> {
  if (!isBounded) return (await stats()).journal.oldestAt ?? until - HOUR
  const since = Math.floor((until - LONGEST_PERIOD) / HOUR) * HOUR
  const { counts, countedTo } = await countAll(journal, { ...query, since, until }, HOUR)
  return counts.reduce((oldest, { at }) => Math.min(oldest, at), countedTo ?? until - HOUR)
}

type Search = Omit<MessageSearch, 'limit' | 'before'>

async function countAll(
  journal: Store['journal'],
  search: Search,
  width: number,
  byRoute = false,
): Promise<CountedTimes> {
  const count = needsContent(search) ? countFound(journal) : journal.countByTime
  const deadline = performance.now() + CALL_TIME
  const counts: CountedTimes['counts'] = []
  const away = new Set<number>()
  const awayShards = () => (away.size > 0 ? { away: [...away] } : {})
  let { until } = search
  for (;;) {
    const page = await count({ ...search, until, isPartial: true }, width, byRoute)
    counts.push(...page.counts)
    for (const shard of page.away ?? []) away.add(shard)
    if (page.countedTo === undefined) return { counts, ...awayShards() }
    until = page.countedTo
    if (performance.now() > deadline) return { counts, countedTo: until, ...awayShards() }
  }
}

/** Counts the results of a search, in complete bars. */
function countFound(journal: Pick<Store['journal'], 'search'>): Store['journal']['countByTime'] {
  return async (search, width) => {
    const deadline = performance.now() + CALL_TIME
    const counts = new Map<number, number>()
    const barOf = (id: string) => Math.floor(timeOf(id) / width) * width
    const sorted = () => [...counts].map(([at, count]) => ({ at, count })).sort((a, b) => b.at - a.at)
    let newest: number | undefined
    let missing: Pick<CountedTimes, 'away'> = {}
    for (let before: string | undefined; ; ) {
      const { found, next, away } = await journal.search({ ...search, before, limit: PAGE })
      if (away) missing = { away }
      for (const { message } of found) counts.set(barOf(message.id), (counts.get(barOf(message.id)) ?? 0) + 1)
      if (next === undefined) return { counts: sorted(), ...missing }
      // The bar of `next` is not yet complete; all later ones are.
      const complete = barOf(next) + width
      newest ??= complete
      if (performance.now() > deadline && complete < newest) {
        for (const at of counts.keys()) if (at < complete) counts.delete(at)
        return { counts: sorted(), countedTo: complete, ...missing }
      }
      before = next
    }
  }
}
