import type { PushTraffic } from '../../core/subscription-info.ts'
import { HOUR } from '../../core/units.ts'
import { type Bucket, OTHER, TIERS, type Traffic } from './traffic.ts'

/** Longest range (ms) that is shown by minute. */
const LONGEST_BY_MINUTE = 6 * HOUR

/**
 * The attempts of a range (Unix ms), by minute or by quarter of an hour: their numbers, how long
 * the receiver took, and why attempts failed, most frequent cause first.
 */
export function trafficIn(traffic: Traffic, since: number, until: number): PushTraffic {
  const isByMinute = until - since <= LONGEST_BY_MINUTE && reaches(traffic, since)
  const tier = isByMinute ? 'minutes' : 'quarters'
  const { every } = TIERS[tier]
  const knownSince = completeSince(traffic, tier)
  const first = since - (since % every)
  const buckets = traffic[tier].filter(({ at }) => at >= first && at < until)
  const begin = Math.max(first, knownSince - (knownSince % every))
  return {
    from: since,
    to: until,
    every,
    knownSince,
    delivered: sumOf(buckets, ({ delivered }) => delivered),
    failed: sumOf(buckets, ({ failed }) => failed),
    causes: causesOf(traffic, buckets),
    points: withEmpty(buckets, begin, until, every),
  }
}

/** Whether the minutes have all attempts since a time that the quarters have. */
function reaches(traffic: Traffic, since: number): boolean {
  return completeSince(traffic, 'minutes') <= Math.max(since, traffic.from)
}

/** Since when a tier has all attempts (Unix ms): older intervals may have been dropped. */
function completeSince(traffic: Traffic, tier: keyof typeof TIERS): number {
  const [oldest] = traffic[tier]
  const isFull = traffic[tier].length >= TIERS[tier].most
  return isFull && oldest ? Math.max(traffic.from, oldest.at) : traffic.from
}

function sumOf(buckets: readonly Bucket[], of: (bucket: Bucket) => number): number {
  return buckets.reduce((sum, bucket) => sum + of(bucket), 0)
}

function causesOf({ causes }: Traffic, buckets: readonly Bucket[]): PushTraffic['causes'] {
  const counts = new Map<string, number>()
  for (const bucket of buckets)
    for (const [key, count] of Object.entries(bucket.causes ?? {}))
      counts.set(key, (counts.get(key) ?? 0) + count)
  return [...counts]
    .toSorted(([, one], [, other]) => other - one)
    .map(([key, count]) => {
      const cause = key === OTHER ? undefined : causes[key]
      return cause ? { count, ...cause } : { count, text: 'other causes' }
    })
}

/** The points of a chart: intervals without attempts have zeros. */
function withEmpty(
  buckets: readonly Bucket[],
  begin: number,
  until: number,
  every: number,
): PushTraffic['points'] {
  const byTime = new Map(buckets.map(({ causes: _, ...point }) => [point.at, point]))
  const times = Math.max(0, Math.ceil((until - begin) / every))
  return Array.from({ length: times }, (_, index) => {
    const at = begin + index * every
    return byTime.get(at) ?? { at, delivered: 0, failed: 0 }
  })
}
