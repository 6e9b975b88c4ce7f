import type { StoreStats } from '../../core/store.ts'
import { MINUTE } from '../../core/units.ts'

/**
 * Counters since the start of the daemon. `latency`: histogram of the seconds from the acceptance
 * of a message to the start of its skill, with cumulative counts.
 */
export type Counts = Record<
  'accepted' | 'done' | 'failed' | 'dead' | 'unrouted' | 'sent' | 'refused',
  number
> & {
  latency: { le: number; count: number }[]
}

/** Rates per second up to `at` (Unix ms), latencies in seconds, and the backlog. */
export type Point = Record<CountName, number> & {
  at: number
  latency?: { p50: number; p95: number }
  waiting?: number
  running?: number
  outbox?: number
  receive?: number
}

type CountName = Exclude<keyof Counts, 'latency'>

/** `every`: interval (ms) of the points. `maxPoints`: the number of points that are kept. */
type TierSize = { every: number; maxPoints: number }
/** Points of the last hour. */
const FINE: TierSize = { every: 5_000, maxPoints: 720 }
/** Points of the last day. */
const MEDIUM: TierSize = { every: 2 * MINUTE, maxPoints: 720 }
/** Points of the last week. */
const COARSE: TierSize = { every: 15 * MINUTE, maxPoints: 672 }

export type History = ReturnType<typeof createHistory>

/**
 * Metrics of this daemon over the last week, in memory, for charts. Older points have longer
 * intervals; their rates and latencies cover the whole interval, and their backlogs are the
 * maximum. Call `sample` every `every` ms.
 */
export function createHistory(deps: {
  counts(): Promise<Counts>
  stats(): Promise<StoreStats>
  now(): number
}) {
  const fine = createTier(FINE)
  const coarse = createTier(COARSE)
  const tiers = [fine, createTier(MEDIUM), coarse]
  return {
    every: fine.every,
    points: fine.points,
    /**
     * The points of a range, in the finest resolution available for all of it, and their interval
     * in ms.
     */
    range(since: number, until: number): { from: number; to: number; every: number; points: Point[] } {
      const tier = tiers.find((one) => one.reaches(since)) ?? coarse
      const last = tier.points().at(-1)?.at ?? 0
      // The tiers with longer intervals do not have the newest time yet.
      const newer = tier === fine ? [] : fine.points().filter(({ at }) => at > last)
      const points = [...tier.points(), ...newer].filter(({ at }) => at >= since && at <= until)
      return { from: since, to: until, every: tier.every, points }
    },
    async sample(): Promise<void> {
      const [counts, stats] = await Promise.all([deps.counts(), deps.stats().catch(() => undefined)])
      const at = deps.now()
      for (const tier of tiers) tier.add({ at, counts }, stats && backlogOf(stats))
    },
  }
}

type Backlog = ReturnType<typeof backlogOf>

function createTier({ every, maxPoints }: TierSize) {
  const points: Point[] = []
  let before: Sample | undefined
  let maxBacklog: Backlog | undefined
  let isComplete = true
  return {
    every,
    points: (): readonly Point[] => points,
    /** Whether the tier still has all points since a time. */
    reaches: (since: number) => isComplete || (points[0]?.at ?? 0) <= since,
    add(sample: Sample, backlog: Backlog | undefined): void {
      maxBacklog = larger(maxBacklog, backlog)
      before ??= sample
      const elapsed = sample.at - before.at
      // If the clock was set back, starts again from this sample.
      if (elapsed < 0) before = sample
      // The fine tier keeps every sample, even one that comes early.
      const isTooEarly = every > FINE.every && elapsed < every
      if (elapsed <= 0 || isTooEarly) return
      points.push({ at: sample.at, ...ratesBetween(before, sample), ...maxBacklog })
      if (points.length > maxPoints) {
        points.shift()
        isComplete = false
      }
      before = sample
      maxBacklog = undefined
    },
  }
}

function larger(a: Backlog | undefined, b: Backlog | undefined): Backlog | undefined {
  if (!a || !b) return a ?? b
  return {
    waiting: Math.max(a.waiting, b.waiting),
    running: Math.max(a.running, b.running),
    outbox: Math.max(a.outbox, b.outbox),
    receive: Math.max(a.receive, b.receive),
  }
}

type Sample = { at: number; counts: Counts }

/** Rates per second and latencies between two samples. */
function ratesBetween(from: Sample, to: Sample) {
  const seconds = Math.max(0.001, (to.at - from.at) / 1000)
  const rate = (name: CountName) => round((to.counts[name] - from.counts[name]) / seconds)
  const latency = to.counts.latency.map(({ le, count }, index) => {
    return { le, count: count - (from.counts.latency[index]?.count ?? 0) }
  })
  const hasLatency = (latency.at(-1)?.count ?? 0) > 0
  return {
    accepted: rate('accepted'),
    done: rate('done'),
    failed: rate('failed'),
    dead: rate('dead'),
    unrouted: rate('unrouted'),
    sent: rate('sent'),
    refused: rate('refused'),
    ...(hasLatency && { latency: { p50: quantile(latency, 0.5), p95: quantile(latency, 0.95) } }),
  }
}

/**
 * Estimates a quantile (0 to 1) like Prometheus: linear within a bucket, at most the last finite
 * bound.
 */
function quantile(buckets: Counts['latency'], part: number): number {
  const rank = (buckets.at(-1)?.count ?? 0) * part
  let countBelow = 0
  let lowerBound = 0
  for (const { le: upperBound, count } of buckets) {
    if (count >= rank) {
      if (upperBound === Number.POSITIVE_INFINITY) return lowerBound
      const share = (rank - countBelow) / Math.max(1, count - countBelow)
      return round(lowerBound + (upperBound - lowerBound) * share, 5)
    }
    countBelow = count
    lowerBound = upperBound
  }
  return lowerBound
}

function backlogOf({ dispatch, receive, jobs }: StoreStats) {
  const countsOf = (name: string) => jobs.find(({ queue }) => queue === name) ?? { waiting: 0, running: 0 }
  const dispatchJobs = countsOf('dispatch')
  const outbox = countsOf('outbox')
  return {
    waiting: dispatch.unpumped + dispatchJobs.waiting,
    running: dispatchJobs.running,
    outbox: outbox.waiting + outbox.running,
    receive: receive.ready + receive.leased,
  }
}

function round(value: number, digits = 2): number {
  return Number(value.toFixed(digits))
}
