import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Json } from '../../core/json.ts'
import type { KeyValues } from '../../core/store.ts'
import { updateKv } from '../../core/update-kv.ts'

const PREFIX = 'budget:'
/**
 * Number of buckets of a sliding window. The window may be too long by the length of one bucket.
 */
const BUCKETS = 48

/** The tokens and money of each bucket, by the start of the bucket (Unix ms). */
const bucketsSchema = z.record(z.string(), z.tuple([z.number(), z.number()]))
export type Buckets = z.infer<typeof bucketsSchema>

/** Sums of usage within the last `per` ms, in the store for all daemons. */
export function createSlidingSums(kv: KeyValues, now: () => number) {
  return {
    async read(owner: string, per: number): Promise<Buckets> {
      const entry = await kv.get(keyOf(owner, per))
      return withoutExpired(entry ? bucketsSchema.parse(entry.value) : {}, per, now())
    },
    /** Adds usage to several sums; a repeated window counts once. */
    async add(
      windows: readonly { owner: string; per: number }[],
      { tokens, money }: { tokens: number; money: number },
    ): Promise<void> {
      const keys = new Map(windows.map(({ owner, per }) => [keyOf(owner, per), per]))
      const addTo = ([key, per]: [string, number]) =>
        updateKv(kv, key, (current): { value: Json; ttl: number } => {
          const at = now()
          const length = bucketLength(per)
          const buckets = withoutExpired(bucketsSchema.parse(current ?? {}), per, at)
          const start = String(Math.floor(at / length) * length)
          const [oldTokens, oldMoney] = buckets[start] ?? [0, 0]
          const sums = [oldTokens + tokens, oldMoney + money]
          return { value: { ...buckets, [start]: sums }, ttl: per + length }
        })
      await Promise.all([...keys].map(addTo))
    },
  }
}

/** The length of a bucket in ms, rounded up, because stores use whole ms. */
export function bucketLength(per: number): number {
  return Math.ceil(per / BUCKETS)
}

function keyOf(owner: string, per: number): string {
  return `${PREFIX}${per}:${hash('sha256', owner).slice(0, 32)}`
}

/** The buckets within the window at a time (Unix ms). */
export function withoutExpired(buckets: Buckets, per: number, now: number): Buckets {
  return Object.fromEntries(
    Object.entries(buckets).filter(([start]) => Number(start) + per + bucketLength(per) > now),
  )
}
