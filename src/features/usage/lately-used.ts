import { DAY } from '../../core/units.ts'
import { NO_GATEWAY, nameIn } from './cost-keys.ts'
import type { createCostLedger } from './cost-ledger.ts'
import { tokensOf } from './cost-lines.ts'
import type { createRunLogs } from './run-log.ts'
import { countsIn, type RunReader, sumOf } from './skill-usage.ts'
import { spanOf } from './slots.ts'

/** How long (ms) what was read is used again: it is asked for with the state of the budgets. */
const CACHE_FOR = 15_000
/** What counts as lately: the first of these spans (ms) with usage. */
const SPANS = [DAY, 7 * DAY]

/**
 * Makes the function that says which skills used models lately, who called them, and what their runs
 * cost. Undefined if nothing was used, or if it cannot be read.
 */
export function createLatelyUsed(deps: {
  ledger: Pick<ReturnType<typeof createCostLedger>, 'rows'>
  runs: RunReader & Pick<ReturnType<typeof createRunLogs>, 'flush'>
  now(): number
}) {
  const { now } = deps
  let known: { at: number; found: ReturnType<typeof readLately> } | undefined
  return () => {
    if (!known || now() - known.at >= CACHE_FOR || now() < known.at)
      known = { at: now(), found: readLately(deps).catch(() => undefined) }
    return known.found
  }
}

async function readLately({ ledger, runs, now }: Parameters<typeof createLatelyUsed>[0]) {
  await runs.flush()
  for (const length of SPANS) {
    const span = spanOf(now() - length, now(), now())
    const rows = await ledger.rows(span)
    if (rows.length === 0) continue
    const counts = await countsIn(runs, span)
    const sumsOf = (skill: string) => sumOf(counts.get(skill) ?? [])
    const groups = Map.groupBy(rows, (row) => JSON.stringify([row.skill, nameIn(row, 'gateway')]))
    return {
      spent: [...groups.values()].flatMap(([row, ...others]) => {
        if (!row) return []
        const gateway = nameIn(row, 'gateway')
        const tokens = [row, ...others].reduce((sum, each) => sum + tokensOf(each), 0)
        return [{ skill: row.skill, ...(gateway !== NO_GATEWAY && { gateway }), tokens }]
      }),
      callersOf: (skill: string) => Object.entries(sumsOf(skill).callers).map(([by, runs]) => ({ by, runs })),
      costOf(skills: readonly string[]) {
        const costs = skills.flatMap((skill) => sumsOf(skill).cost ?? [])
        if (costs.length === 0) return undefined
        const sum = (amount: (cost: (typeof costs)[number]) => number) =>
          costs.reduce((total, cost) => total + amount(cost), 0)
        return {
          runs: sum(({ runs }) => runs),
          tokens: sum(({ inputTokens, outputTokens }) => inputTokens + outputTokens),
          money: sum(({ money }) => money),
        }
      },
    }
  }
  return undefined
}
