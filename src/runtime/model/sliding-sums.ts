import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Amount } from '../../core/budget.ts'
import type { Json } from '../../core/json.ts'
import type { KeyValues } from '../../core/store.ts'
import { updateKv } from '../../core/update-kv.ts'

const PREFIX = 'budget:'
/** Number of buckets of a sliding window, which may be too long by one bucket. */
const PARTS = 48

/** Usage per bucket, by its start (Unix ms): tokens, and money. */
const spentSchema = z.record(z.string(), z.tuple([z.number(), z.number()]))
type SpentParts = z.infer<typeof spentSchema>

/** Sums of usage within the last `per` ms, in the store for all daemons. */
export function createSlidingSums(kv: KeyValues, now: () => number) {
  return {
    async read(who: string, per: number): Promise<SpentParts> {
      const entry = await kv.get(keyOf(who, per))
      return within(entry ? spentSchema.parse(entry.value) : {}, per, now())
    },
    /** Adds usage to several sums; a repeated place counts once. */
    async add(
      places: readonly { who: string; per: number }[],
      { tokens, money }: { tokens: number; money: number },
    ): Promise<void> {
      const keys = new Map(places.map(({ who, per }) => [keyOf(who, per), per]))
      const addTo = ([key, per]: [string, number]) =>
        updateKv(kv, key, (current): { value: Json; ttl: number } => {
          const at = now()
          const part = partOf(per)
          const parts = within(spentSchema.parse(current ?? {}), per, at)
          const start = String(Math.floor(at / part) * part)
          const [before, paid] = parts[start] ?? [0, 0]
          return { value: { ...parts, [start]: [before + tokens, paid + money] }, ttl: per + part }
        })
      await Promise.all([...keys].map(addTo))
    },
  }
}

/** Whole ms, because stores use whole ms. */
function partOf(per: number): number {
  return Math.ceil(per / PARTS)
}

function keyOf(who: string, per: number): string {
  return `${PREFIX}${per}:${hash('sha256', who).slice(0, 32)}`
}

/** The buckets within the window. */
function within(parts: SpentParts, per: number, now: number): SpentParts {
  return Object.fromEntries(
    Object.entries(parts).filter(([start]) => Number(start) + per + partOf(per) > now),
  )
}

export function sumOf(parts: SpentParts, { unit }: Amount): number {
  return Object.values(parts).reduce((sum, [tokens, money]) => sum + (unit === 'tokens' ? tokens : money), 0)
}

/** When enough usage has left the window; undefined if something is left now. */
export function goesOnAt(parts: SpentParts, amount: Amount): number | undefined {
  let left = sumOf(parts, amount)
  let until: number | undefined
  for (const [start, spent] of Object.entries(parts).sort(([a], [b]) => Number(a) - Number(b))) {
    if (left < amount.most) return until
    left -= sumOf({ [start]: spent }, amount)
    until = Number(start) + amount.per + partOf(amount.per)
  }
  return left < amount.most ? until : Number.POSITIVE_INFINITY
}
