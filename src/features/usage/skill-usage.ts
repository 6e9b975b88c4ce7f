import type { Services } from '../../core/services.ts'
import { defined } from '../../lib/defined.ts'
import type { createCost } from './cost.ts'
import { DAY, dayOf } from './day.ts'
import { addBuckets, noDurations, quantile } from './run-histogram.ts'
import type { createRunLogs, RunLog } from './run-log.ts'

const WEEK = 7 * DAY
const MOST_RUNS = 30

/** `skill-usage`: the last seven days. */
export function createSkillUsage(deps: {
  runs: Pick<ReturnType<typeof createRunLogs>, 'flush' | 'read' | 'skills'>
  cost: ReturnType<typeof createCost>
  requireSkill(name: string): unknown
  now(): number
}): Services['usage']['skill-usage'] {
  const { runs, cost, now } = deps

  const one = async (name: string) => {
    const log = await runs.read(name)
    if (log.recent.length === 0) deps.requireSkill(name)
    const { total } = await cost({ by: 'day', since: now() - WEEK, skill: name })
    const { name: _, ...used } = total
    return {
      name,
      ...summaryOf(log, now()),
      days: daysOf(log, now()).map(({ day, runs, failed }) => ({ day, runs, failed })),
      callers: callersOf(log),
      recent: log.recent.slice(0, MOST_RUNS),
      ...(used.steps > 0 && { cost: used }),
    }
  }

  return async ({ name }) => {
    // What this daemon has seen counts at once; what others have, within seconds.
    await runs.flush()
    if (name !== undefined) return one(name)
    const [names, { rows }] = await Promise.all([runs.skills(), cost({ by: 'skill', since: now() - WEEK })])
    const found = await Promise.all(
      names.map(async (skill) => {
        const used = rows.find((row) => row.name === skill)
        const tokens = used && used.inputTokens + used.outputTokens
        return {
          name: skill,
          ...summaryOf(await runs.read(skill), now()),
          ...defined({ tokens, money: used?.money }),
        }
      }),
    )
    return found.filter((each) => each.runs > 0).sort((a, b) => b.runs - a.runs)
  }
}

function daysOf({ days }: RunLog, now: number) {
  const oldest = dayOf(now - WEEK)
  return Object.entries(days)
    .filter(([day]) => day >= oldest)
    .map(([day, counts]) => ({ day, ...counts }))
    .sort((a, b) => a.day.localeCompare(b.day))
}

function summaryOf(log: RunLog, now: number) {
  const days = daysOf(log, now)
  const [runs, failed] = [
    days.reduce((sum, day) => sum + day.runs, 0),
    days.reduce((sum, day) => sum + day.failed, 0),
  ]
  const durations = days.reduce((sum, day) => addBuckets(sum, day.durations), noDurations())
  return {
    runs,
    failed,
    errorRate: runs === 0 ? 0 : Number((failed / runs).toFixed(4)),
    ...defined({ p50: quantile(durations, 0.5), p95: quantile(durations, 0.95), lastAt: log.recent[0]?.at }),
  }
}

function callersOf({ days }: RunLog) {
  const counts = new Map<string, number>()
  for (const { callers } of Object.values(days))
    for (const [by, times] of Object.entries(callers)) counts.set(by, (counts.get(by) ?? 0) + times)
  return [...counts].map(([by, runs]) => ({ by, runs })).sort((a, b) => b.runs - a.runs)
}
