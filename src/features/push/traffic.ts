import { z } from 'zod'
import { MINUTE } from '../../core/units.ts'
import { answerText } from '../../lib/answer-text.ts'
import { patternOf } from '../../lib/error-pattern.ts'
import { withoutAddresses } from '../../lib/without-addresses.ts'
import { createDurationSample } from './duration-sample.ts'
import type { Answer } from './post.ts'

/** Maximum number of causes that are told apart. Further ones are counted together. */
const MAX_CAUSES = 20
/** Maximum characters of a cause. */
const MAX_TEXT = 200
/** Minimum interval (ms) between two writes. */
const WRITE_INTERVAL = 2_000
/** The key of the causes that are not told apart. */
export const OTHER = 'other'

/**
 * The attempts of an interval that began `at` (Unix ms), and how long (ms) the receiver took.
 * `causes`: failed attempts by the index of their cause.
 */
const bucketSchema = z.object({
  at: z.number(),
  delivered: z.number(),
  failed: z.number(),
  p50: z.number().exactOptional(),
  p95: z.number().exactOptional(),
  causes: z.record(z.string(), z.number()).exactOptional(),
})

/** Numbers of the last week. `from`: when they begin (Unix ms). `causes`: by their index. */
export const trafficSchema = z.object({
  from: z.number(),
  // An erasure may remove one of them, which leaves the indexes of the others as they are.
  causes: z.record(z.string(), z.object({ text: z.string(), lastAt: z.number() })).default({}),
  minutes: z.array(bucketSchema).default([]),
  quarters: z.array(bucketSchema).default([]),
})

export type Bucket = z.infer<typeof bucketSchema>
export type Traffic = z.infer<typeof trafficSchema>

/** Intervals (ms), and the number of those with attempts that are kept. */
export const TIERS = {
  minutes: { every: MINUTE, most: 360 },
  quarters: { every: 15 * MINUTE, most: 672 },
} as const

type TrafficDeps = {
  records: { traffic(now: number): Promise<Traffic>; setTraffic(traffic: Traffic): Promise<unknown> }
  /** Timeout (ms) of a request. */
  timeout: number
  failed(error: unknown): void
  now(): number
}

/** Counts the attempts of one subscription, by outcome and time, also those of earlier starts. */
export async function createTraffic({ records, timeout, failed, now }: TrafficDeps) {
  const traffic = await records.traffic(now())
  const tiers = [createTier(TIERS.minutes, traffic.minutes), createTier(TIERS.quarters, traffic.quarters)]
  let timer: NodeJS.Timeout | undefined

  const write = async (): Promise<void> => {
    if (timer === undefined) return
    clearTimeout(timer)
    timer = undefined
    for (const tier of tiers) tier.measure()
    await records.setTraffic(traffic)
  }

  return {
    count({ at, ms, answer }: { at: number; ms: number; answer: Answer }): void {
      const { status, reason } = answer
      const key = reason === undefined ? undefined : causeKey(traffic, causeOf(reason, answer), at)
      // A refused connection says nothing about how long the receiver takes; a timeout does.
      const duration = status !== undefined || ms >= timeout ? ms : undefined
      for (const tier of tiers) tier.count(at, key, duration)
      timer ??= setTimeout(() => void write().catch(failed), WRITE_INTERVAL)
    },
    /** Stores what was counted since the last write. */
    write,
  }
}

function createTier({ every, most }: { every: number; most: number }, buckets: Bucket[]) {
  let durations = createDurationSample()
  const measure = () => {
    const last = buckets.at(-1)
    const p50 = durations.quantile(0.5)
    const p95 = durations.quantile(0.95)
    if (last && p50 !== undefined && p95 !== undefined) Object.assign(last, { p50, p95 })
  }
  /** The bucket of a time. If the clock was set back, that is the newest one. */
  const bucketAt = (at: number): Bucket => {
    const start = at - (at % every)
    const last = buckets.at(-1)
    if (last && last.at >= start) return last
    measure()
    durations = createDurationSample()
    const bucket = { at: start, delivered: 0, failed: 0 }
    buckets.push(bucket)
    if (buckets.length > most) buckets.shift()
    return bucket
  }
  return {
    /** Computes the percentiles of the newest bucket. */
    measure,
    count(at: number, cause: string | undefined, ms: number | undefined): void {
      const bucket = bucketAt(at)
      if (cause === undefined) bucket.delivered++
      else {
        bucket.failed++
        bucket.causes ??= {}
        bucket.causes[cause] = (bucket.causes[cause] ?? 0) + 1
      }
      if (ms !== undefined) durations.add(ms)
    },
  }
}

/**
 * `it answered 503: the disk is full`. Addresses and ids in the answer are left out, because an
 * erasure of personal data would not find them here.
 */
function causeOf(reason: string, { answer = '' }: Answer): string {
  const said = withoutAddresses(answerText(answer).replaceAll(UUID, '…'))
  return [reason, said].filter(Boolean).join(': ').slice(0, MAX_TEXT)
}

/** Events and messages have such ids. */
const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi
const CAUSE_KEYS = Array.from({ length: MAX_CAUSES }, (_, index) => String(index))

/** The key of a cause. Causes that differ only in ids and numbers have the same one. */
function causeKey({ causes, minutes, quarters }: Traffic, text: string, at: number): string {
  const pattern = patternOf(text)
  const isThis = (key: string) => causes[key] !== undefined && patternOf(causes[key].text) === pattern
  const isUsed = (key: string) => [...minutes, ...quarters].some((bucket) => bucket.causes?.[key])
  const key = CAUSE_KEYS.find(isThis) ?? CAUSE_KEYS.find((each) => !isUsed(each))
  if (key === undefined) return OTHER
  causes[key] = { text, lastAt: at }
  return key
}
