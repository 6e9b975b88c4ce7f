import { hash } from 'node:crypto'
import { z } from 'zod'
import type { KeyValues } from '../../../src/core/store.ts'
import type { Rate } from '../../../src/core/units.ts'
import { updateKv } from '../../../src/core/update-kv.ts'

/** About as long as a dead letter is worth sending again. */
const DEAD_LETTERS = 30 * 86_400_000
/** So many replies are left of a budget, however quick they were: people can be quick. */
const FEW = 3
/** When each reply was taken (Unix ms), its key, and whether it was quick. */
const takenSchema = z.array(z.tuple([z.number(), z.string(), z.boolean()])).catch([])

/**
 * Counts automatic replies per correspondent, conversation and thread over a sliding window, for all daemons together.
 * The function takes one out of the budget of each of `names`; 0, or the ms until there is room again. The same `key`
 * counts once, and one that was refused before is let through: a refused reply is a dead letter, which only a person
 * sends again. `quick`: it answers what came right after a reply of ours, as robots write; each such one halves the budget.
 */
export function createBudget(kv: KeyValues, gateway: string, rate: Rate | 'off', now: () => number) {
  const digest = (text: string) => hash('sha256', text, 'base64url').slice(0, 16)
  const takeFrom = async (rate: Rate, budget: string, mark: string, quick: boolean): Promise<number> => {
    let wait = 0
    await updateKv(kv, `email/${gateway}/budget/${digest(budget)}`, (value) => {
      const taken = takenSchema.parse(value).filter(([at]) => at > now() - rate.per)
      wait = 0
      if (taken.some(([, each]) => each === mark)) return undefined
      const next: typeof taken = [...taken, [now(), mark, quick]]
      const half = Math.floor(rate.count / 2 ** next.filter(([, , isQuick]) => isQuick).length)
      const [oldest] = taken
      if (oldest && taken.length >= Math.min(rate.count, Math.max(FEW, half)))
        wait = oldest[0] + rate.per - now()
      return wait > 0 ? undefined : { value: next, ttl: rate.per }
    })
    return wait
  }
  return async (names: readonly string[], key: string, quick: boolean): Promise<number> => {
    const mark = digest(key)
    const refused = `email/${gateway}/over-budget/${mark}`
    if (rate === 'off' || (await kv.get(refused))) return 0
    for (const name of new Set(names)) {
      const wait = await takeFrom(rate, name, mark, quick)
      if (wait <= 0) continue
      await kv.set(refused, true, { ttl: DEAD_LETTERS })
      return wait
    }
    return 0
  }
}
