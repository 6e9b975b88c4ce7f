import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Amount } from '../../core/budget.ts'
import type { Json } from '../../core/json.ts'
import type { KeyValues } from '../../core/store.ts'
import { updateKv } from '../../core/update-kv.ts'

const PREFIX = 'budget:'
/** Number of buckets of a sliding window. The window may be too long by the length of one. */
const BUCKETS = 48

/** Usage per bucket, by its start (Unix ms): tokens, and money. */
const bucketsSchema = z.record(z.string(), z.tuple([z.number(), z.number()]))
type Buckets = z.infer<typeof bucketsSchema>

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
function bucketLength(per: number): number {
  return Math.ceil(per / BUCKETS)
}

function keyOf(owner: string, per: number): string {
  return `${PREFIX}${per}:${hash('sha256', owner).slice(0, 32)}`
}

/** The buckets within the window. */
function withoutExpired(buckets: Buckets, per: number, now: number): Buckets {
  return Object.fromEntries(
    Object.entries(buckets).filter(([start]) => Number(start) + per + bucketLength(per) > now),
  )
}

/** The sum of all buckets, in the unit of the amount. */
export function sumOf(buckets: Buckets, { unit }: Amount): number {
  return Object.values(buckets).reduce(
    (sum, [tokens, money]) => sum + (unit === 'tokens' ? tokens : money),
    0,
  )
}

/** When all usage will have left the window (Unix ms); undefined without usage in the unit of the amount. */
export function resetsAt(buckets: Buckets, amount: Amount): number | undefined {
  const starts = Object.entries(buckets)
    .filter(([start, spent]) => sumOf({ [start]: spent }, amount) > 0)
    .map(([start]) => Number(start))
  return starts.length === 0 ? undefined : Math.max(...starts) + amount.per + bucketLength(amount.per)
}

/** When enough usage will have left the window (Unix ms); undefined if the amount is not used up. */
export function availableAt(buckets: Buckets, amount: Amount): number | undefined {
  let used = sumOf(buckets, amount)
  let until: number | undefined
  for (const [start, spent] of Object.entries(buckets).sort(([a], [b]) => Number(a) - Number(b))) {
    if (used < amount.most) return until
    used -= sumOf({ [start]: spent }, amount)
    until = Number(start) + amount.per + bucketLength(amount.per)
  }
  return used < amount.most ? until : Number.POSITIVE_INFINITY
}
