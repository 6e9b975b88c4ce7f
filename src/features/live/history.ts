import type { StoreStats } from '../../core/store.ts'

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

/** Ms between points, and number of kept points: an hour. */
const EVERY = 5_000
const KEPT = 720

export type History = ReturnType<typeof createHistory>

/** The last hour of this daemon, in memory, for charts. Call `sample` every `every` ms. */
export function createHistory(deps: {
  counts(): Promise<Counts>
  stats(): Promise<StoreStats>
  now(): number
}) {
  const points: Point[] = []
  let before: { at: number; counts: Counts } | undefined
  return {
    every: EVERY,
    points: (): readonly Point[] => points,
    async sample(): Promise<void> {
      const [counts, stats] = await Promise.all([deps.counts(), deps.stats().catch(() => undefined)])
      const at = deps.now()
      if (before) points.push({ at, ...ratesBetween(before, { at, counts }), ...(stats && depthsOf(stats)) })
      if (points.length > KEPT) points.shift()
      before = { at, counts }
    },
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
