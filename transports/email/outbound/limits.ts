import { hash } from 'node:crypto'
import { z } from 'zod'
import type { KeyValues } from '../../../src/core/store.ts'
import type { Rate } from '../../../src/core/units.ts'

/** Counts automatic replies per correspondent, for all daemons together. */
export type Budget = {
  /**
   * Takes one reply out of the budget; 0, or the ms until there is room again. The same `key` counts once, and one that
   * was refused before is let through: a refused reply is a dead letter, which only a person sends again.
   */
  take(correspondent: string, key: string): Promise<number>
}

/** About as long as a dead letter is worth sending again. */
const DEAD_LETTERS = 30 * 86_400_000
/** When each reply was taken (Unix ms), and its key. */
const takenSchema = z.array(z.tuple([z.number(), z.string()])).catch([])

/** A budget over a sliding window. Rate `off` is no budget. */
export function createBudget(kv: KeyValues, gateway: string, rate: Rate | 'off', now: () => number): Budget {
  if (rate === 'off') return { take: async () => 0 }
  const digest = (text: string) => hash('sha256', text, 'base64url').slice(0, 16)
  return {
    async take(correspondent, key) {
      const name = `email/${gateway}/budget/${digest(correspondent.toLowerCase())}`
      const mark = digest(key)
      const refused = `email/${gateway}/over-budget/${mark}`
      if (await kv.get(refused)) return 0
      for (;;) {
        const found = await kv.get(name)
        const taken = takenSchema.parse(found?.value).filter(([at]) => at > now() - rate.per)
        if (taken.some(([, each]) => each === mark)) return 0
        const [oldest] = taken
        if (oldest && taken.length >= rate.count) {
          await kv.set(refused, true, { ttl: DEAD_LETTERS })
          return oldest[0] + rate.per - now()
        }
        const next = [...taken, [now(), mark]]
        const written = await kv.set(name, next, { ttl: rate.per, ifVersion: found?.version ?? 0 })
        // Undefined: another daemon wrote in between; look again.
        if (written !== undefined) return 0
      }
    },
  }
}
