import type { StoreStats } from '../../core/store.ts'
import { MINUTE } from '../../core/units.ts'

/** Counters since the start, and the histogram of start latencies in seconds (`le` buckets). */
export type Counts = Record<
  'accepted' | 'done' | 'failed' | 'dead' | 'unrouted' | 'sent' | 'refused',
  number
> & {
  latency: { le: number; count: number }[]
}

/** Rates per second before `at`, and backlog at that time. Latencies in seconds. */
export type Point = Record<CountName, number> & {
  at: number
  latency?: { p50: number; p95: number }
  waiting?: number
  running?: number
  outbox?: number
  receive?: number
}

type CountName = Exclude<keyof Counts, 'latency'>

/** Interval (ms) and number of points: an hour, a day and a week. */
const TIERS = [
  { every: 5_000, kept: 720 },
  { every: 2 * MINUTE, kept: 720 },
  { every: 15 * MINUTE, kept: 672 },
] as const
const [{ every: EVERY }] = TIERS

export type History = ReturnType<typeof createHistory>

/**
 * Metrics of this daemon over the last week, in memory, for charts; older points are coarser. Call
 * `sample` every `every` ms. In a coarse point, rates and latencies cover its whole span, and
 * depths are the maximum.
 */
export function createHistory(deps: {
  counts(): Promise<Counts>
  stats(): Promise<StoreStats>
  now(): number
}) {
  const [fine, minutes, quarters] = TIERS.map(createTier)
  const tiers = [fine, minutes, quarters].filter((tier) => tier !== undefined)
  return {
    every: EVERY,
    points: (): readonly Point[] => fine?.points() ?? [],
    /** The points of a range, in the finest resolution available for all of it, and their interval in ms. */
    range(since: number, until: number): { from: number; to: number; every: number; points: Point[] } {
      const tier = tiers.find((each) => each.reaches(since)) ?? quarters
      const known = tier?.points() ?? []
      const last = known.at(-1)?.at ?? 0
      // The time since the last coarse point is only in the fine tier.
      const newer = tier === fine ? [] : (fine?.points() ?? []).filter(({ at }) => at > last)
      const points = [...known, ...newer].filter(({ at }) => at >= since && at <= until)
      return { from: since, to: until, every: tier?.every ?? EVERY, points }
    },
    async sample(): Promise<void> {
      const [counts, stats] = await Promise.all([deps.counts(), deps.stats().catch(() => undefined)])
      const at = deps.now()
      for (const tier of tiers) tier.add({ at, counts }, stats && depthsOf(stats))
    },
  }
}

type Depths = ReturnType<typeof depthsOf>

function createTier({ every, kept }: { every: number; kept: number }) {
  const points: Point[] = []
  let before: Sample | undefined
  let deepest: Depths | undefined
  let isWhole = true
  return {
    every,
    points: (): readonly Point[] => points,
    /** Whether the tier still has all points since a time. */
    reaches: (since: number) => isWhole || (points[0]?.at ?? 0) <= since,
    add(sample: Sample, depths: Depths | undefined): void {
      deepest = deeper(deepest, depths)
      before ??= sample
      const passed = sample.at - before.at
      // The clock was set back.
      if (passed < 0) before = sample
      // Keep every sample in the fine tier, even an early one.
      if (passed <= 0 || (every > EVERY && passed < every)) return
      points.push({ at: sample.at, ...ratesBetween(before, sample), ...deepest })
      if (points.length > kept) {
        points.shift()
        isWhole = false
      }
      before = sample
      deepest = undefined
    },
  }
}

function deeper(a: Depths | undefined, b: Depths | undefined): Depths | undefined {
  if (!a || !b) return a ?? b
  return {
    waiting: Math.max(a.waiting, b.waiting),
    running: Math.max(a.running, b.running),
    outbox: Math.max(a.outbox, b.outbox),
    receive: Math.max(a.receive, b.receive),
  }
}

type Sample = { at: number; counts: Counts }

function ratesBetween(from: Sample, to: Sample) {
  const seconds = Math.max(0.001, (to.at - from.at) / 1000)
  const rate = (name: CountName) => round((to.counts[name] - from.counts[name]) / seconds)
  const within = to.counts.latency.map(({ le, count }, index) => {
    return { le, count: count - (from.counts.latency[index]?.count ?? 0) }
  })
  return {
    accepted: rate('accepted'),
    done: rate('done'),
    failed: rate('failed'),
    dead: rate('dead'),
    unrouted: rate('unrouted'),
    sent: rate('sent'),
    refused: rate('refused'),
    ...((within.at(-1)?.count ?? 0) > 0 && {
      latency: { p50: quantile(within, 0.5), p95: quantile(within, 0.95) },
    }),
  }
}

/** Estimates a quantile like Prometheus: linear within a bucket, at most the last bound. */
function quantile(buckets: Counts['latency'], part: number): number {
  const wanted = (buckets.at(-1)?.count ?? 0) * part
  let [below, least] = [0, 0]
  for (const { le, count } of buckets) {
    if (count >= wanted) {
      if (le === Number.POSITIVE_INFINITY) return least
      return round(least + ((le - least) * (wanted - below)) / Math.max(1, count - below), 5)
    }
    ;[below, least] = [count, le]
  }
  return least
}

function depthsOf({ dispatch, receive, jobs }: StoreStats) {
  const of = (name: string) => jobs.find(({ queue }) => queue === name) ?? { waiting: 0, running: 0 }
  const [own, outbox] = [of('dispatch'), of('outbox')]
  return {
    waiting: dispatch.unpumped + own.waiting,
    running: own.running,
    outbox: outbox.waiting + outbox.running,
    receive: receive.ready,
  }
}

function round(value: number, digits = 2): number {
  return Number(value.toFixed(digits))
}
