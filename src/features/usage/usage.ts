import type { BudgetStatus } from '../../core/budget.ts'
import type { Call } from '../../core/call.ts'
import type { Log } from '../../core/log.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { KeyValues } from '../../core/store.ts'
import { repeat } from '../../lib/loop.ts'
import { createCost } from './cost.ts'
import { createCostLedger, type StepUsage } from './cost-ledger.ts'
import { withRuns } from './cost-of-runs.ts'
import { createLatelyUsed } from './lately-used.ts'
import type * as operations from './operations.ts'
import { createRecentUse } from './recent-use.ts'
import { createRunCosts } from './run-costs.ts'
import { createRunLogs } from './run-log.ts'
import { createRunningRuns } from './running-runs.ts'
import { createRunsMiddleware } from './runs-middleware.ts'
import { createSkillUsage } from './skill-usage.ts'

/** Interval (ms) at which the runs of skills, and usage that could not be stored before, are stored. */
const FLUSH_INTERVAL = 5_000

/** Usage of models and skills, in the store. */
export function createUsage(deps: {
  kv: KeyValues
  /** Redacts secrets in the text of an error. */
  clean(text: string): string
  log: Log
  now(): number
}) {
  const ledger = createCostLedger(deps)
  const runs = createRunLogs(deps)
  const running = createRunningRuns()
  const costs = createRunCosts(deps)
  const flush = async () => {
    const flushed = await Promise.allSettled([runs.flush(), ledger.flush()])
    for (const { reason } of flushed.filter((one) => one.status === 'rejected')) throw reason
  }
  const flushing = repeat(flush, FLUSH_INTERVAL, 'usage of skills and models', deps.log)
  return {
    /** Records the usage of a model step. Resolves once stored; rejects if it is stored later. */
    async spent(used: StepUsage, call: Call): Promise<void> {
      await Promise.all([ledger.add(used), costs.spent(call, used)])
    },
    /** What was used in the last hour and day, in total or by one skill. */
    recent: createRecentUse({ ledger, now: deps.now }),
    /** Who used models lately. */
    lately: createLatelyUsed({ ledger, runs, now: deps.now }),
    middleware: createRunsMiddleware({ ...deps, add: runs.add, running, costs }),
    /** `cost` and `skill-usage`. */
    service(parts: {
      currency(): string | undefined
      budgets(topSenders: (per: number) => Promise<readonly string[]>): Promise<BudgetStatus[]>
      /** Throws `skill_not_found`. */
      requireSkill(name: string): unknown
    }): ServiceOf<typeof operations.usage> {
      const cost = createCost({ ...deps, ...parts, ledger })
      return {
        cost: withRuns({ cost, runs, now: deps.now }),
        'skill-usage': createSkillUsage({ ...deps, ...parts, runs, running, cost }),
      }
    },
    start: flushing.start,
    /** Stores what was collected. */
    async stop(): Promise<void> {
      await flushing.stop()
      await costs.settled()
      await flush()
    },
  }
}
