import type { ServiceOf } from '../../core/operation.ts'
import { DAY } from '../../core/units.ts'
import { byCodeUnits } from '../../lib/by-code-units.ts'
import { defined } from '../../lib/defined.ts'
import { quantileOf } from '../../lib/quantile.ts'
import { noDurations, quantile } from '../../lib/run-histogram.ts'
import type { createCost } from './cost.ts'
import type * as operations from './operations.ts'
import { shownCost } from './run-costs.ts'
import { failedMessages, failedWith, outcomeOf, runErrors } from './run-errors.ts'
import { addCounts, countsOf, type createRunLogs, type Run, type RunCounts, type RunLog } from './run-log.ts'
import type { RunningRuns } from './running-runs.ts'
import { SLOT, type Span, spanOf } from './slots.ts'

const WEEK = 7 * DAY
/** The runs of skills, as they are stored. */
export type RunReader = Pick<ReturnType<typeof createRunLogs>, 'read' | 'skills' | 'bySkill'>

/** `skill-usage`: statistics of the last seven days, or of a part of them. */
export function createSkillUsage(deps: {
  runs: RunReader & Pick<ReturnType<typeof createRunLogs>, 'flush' | 'failures' | 'slotsOf'>
  running: Pick<RunningRuns, 'of' | 'skills'>
  cost: ReturnType<typeof createCost>
  requireSkill(name: string): unknown
  now(): number
}): ServiceOf<typeof operations.usage>['skill-usage'] {
  const { runs, running, cost, now } = deps

  /** The failed and cancelled runs of a range that are stored one by one, newest first. */
  const failuresOf = async (skill: string, log: Pick<RunLog, 'recent'>, range: Range) =>
    recentIn({ recent: withFailures(log.recent, await runs.failures(skill)) }, range)

  const ofSkill = async (name: string, range: Range, wanted: Wanted) => {
    const span = spanOf(range.since, range.until, now())
    const log = await runs.read(name)
    if (log.recent.length === 0) deps.requireSkill(name)
    const counted = countedIn(span)
    const failures = await failuresOf(name, log, counted)
    const counts = span.isExact
      ? (await runs.bySkill(span)).flatMap((slot) => countsOf(slot, name) ?? [])
      : daysOf(log, span).map(([, day]) => day)
    const lastDay = spanOf(Math.max(range.since, now() - DAY), range.until, now())
    const { total, currency } = await cost({ by: 'day', ...range, skill: name })
    const { name: _, ...used } = total
    const summary = summaryOf(counts, log, counted)
    const kept = recentIn(log, counted)
    return {
      name,
      from: span.from,
      to: span.to,
      ...summary,
      ...defined({ failedMessages: failedMessages(failures, summary.failed) }),
      days: daysOf(log, span).map(([day, counts]) => dayIn(day, counts)),
      slots: lastDay.isExact ? await runs.slotsOf(name, lastDay) : [],
      callers: callersOf(counts),
      ...endedRuns(kept, failures, wanted),
      // Of few runs, each one is known, so that nothing has to be estimated.
      ...(countedAmong(kept).length === summary.runs && { times: timesOf(kept) }),
      running: running.of(name).oldest,
      ...(used.steps > 0 && { cost: used }),
      ...defined({ currency }),
    }
  }

  return async ({ name, since = now() - WEEK, until = now(), outcome, error, by, limit }) => {
    // Then the result has all runs of this daemon. Those of other daemons follow within seconds.
    await runs.flush()
    const range = { since, until }
    if (name !== undefined) return ofSkill(name, range, { ...defined({ outcome, error, by }), limit })
    const span = spanOf(since, until, now())
    const [counted, { rows }] = await Promise.all([countsIn(runs, span), cost({ by: 'skill', ...range })])
    // The last run of a skill is shown whatever the range.
    for (const skill of [...running.skills(), ...(await runs.skills())])
      if (!counted.has(skill)) counted.set(skill, [])
    const found = await Promise.all(
      [...counted].map(async ([skill, counts]) => {
        const used = rows.find((row) => row.name === skill)
        const tokens = used && used.inputTokens + used.outputTokens
        const log = await runs.read(skill)
        const callers = callersOf(counts)
        const listed = countedIn(span)
        const summary = summaryOf(counts, log, listed)
        const { failed } = summary
        const ofMessages =
          failed > 0 ? failedMessages(await failuresOf(skill, log, listed), failed) : undefined
        return {
          name: skill,
          ...summary,
          ...defined({ failedMessages: ofMessages, tokens, money: used?.money }),
          callers,
          ...runningIn(running.of(skill)),
        }
      }),
    )
    return found
      .filter(({ lastAt, running, tests }) => [lastAt, running, tests].some((each) => each !== undefined))
      .sort((a, b) => b.runs - a.runs)
  }
}

/** The counts of each skill in a span. */
export async function countsIn(runs: RunReader, span: Span): Promise<Map<string, RunCounts[]>> {
  const found = new Map<string, RunCounts[]>()
  const add = (skill: string, counts: RunCounts) => found.set(skill, [...(found.get(skill) ?? []), counts])
  if (span.isExact) {
    for (const slot of await runs.bySkill(span))
      for (const [skill, counts] of Object.entries(slot)) add(skill, counts)
    return found
  }
  const logs = (await runs.skills()).map(async (skill) => ({ skill, log: await runs.read(skill) }))
  for (const { skill, log } of await Promise.all(logs))
    for (const [, counts] of daysOf(log, span)) add(skill, counts)
  return found
}

/** The number of runs under way, and the start of the oldest; nothing without any. */
function runningIn({ count, oldest }: ReturnType<RunningRuns['of']>): {
  running?: number
  runningSince?: number
} {
  const [first] = oldest
  return first ? { running: count, runningSince: first.since } : {}
}

/**
 * The last runs of one skill in the result, up to `limit`, filtered by outcome, error pattern or
 * caller.
 */
type Wanted = { outcome?: ReturnType<typeof outcomeOf>; error?: string; by?: string; limit: number }

type Range = { since: number; until: number }

/** What a span counts: whole slots or days. So the listed runs add up to the counted ones. */
function countedIn({ isExact, names }: Span): Range {
  const since = Date.parse(names[0] ?? '')
  const last = Date.parse(names.at(-1) ?? '')
  return { since, until: last + (isExact ? SLOT : DAY) - 1 }
}

/** A run with its cost as people see it. */
function shownRun({ cost, ...run }: Run) {
  return { ...run, ...(cost && { cost: shownCost(cost) }) }
}

/** The wanted runs, and the errors of failed ones. All runs are newest first. */
function endedRuns(recent: readonly Run[], failures: readonly Run[], wanted: Wanted) {
  const { outcome, error, by, limit } = wanted
  const isOfFailures = outcome === 'failed' || outcome === 'cancelled' || error !== undefined
  const found = (isOfFailures ? failures : recent)
    .filter((run) => by === undefined || run.by === by)
    .filter((run) => outcome === undefined || outcomeOf(run) === outcome)
    .filter((run) => error === undefined || failedWith(run, error))
  const shown = found.slice(0, limit).map(shownRun)
  return { recent: shown, more: found.length > limit, ...runErrors(failures) }
}

/**
 * The failed and cancelled runs, newest first. Earlier versions kept failures only among the last
 * runs.
 */
function withFailures(recent: readonly Run[], failures: readonly Run[]): Run[] {
  const isKept = ({ at, by, messageId }: Run) =>
    failures.some((each) => each.at === at && each.by === by && each.messageId === messageId)
  const others = recent.filter((run) => run.code !== undefined && !isKept(run))
  return [...failures, ...others].sort((a, b) => b.at - a.at)
}

function dayIn(day: string, { runs, failed, durations, parts, longest }: RunCounts) {
  return { day, runs, failed, durations, parts, ...defined({ longest }) }
}

/** The days that a span touches, oldest first. */
function daysOf({ days }: Pick<RunLog, 'days'>, { from, to }: Span): [string, RunCounts][] {
  const first = from.slice(0, 10)
  const last = to.slice(0, 10)
  return Object.entries(days)
    .filter(([day]) => day >= first && day <= last)
    .sort(([a], [b]) => byCodeUnits(a, b))
}

function recentIn({ recent }: Pick<RunLog, 'recent'>, { since, until }: Range) {
  return recent.filter(({ at }) => at >= since && at <= until)
}

function summaryOf(counts: readonly RunCounts[], log: Pick<RunLog, 'recent'>, range: Range) {
  const sum = sumOf(counts)
  const { runs, failed, cancelled, tests } = sum
  const recent = countedAmong(recentIn(log, range))
  const [last] = countedAmong(log.recent)
  const times = timesOf(recent).map(({ ms }) => ms)
  // Few runs are all stored one by one, and need no estimate.
  const isExact = recent.length === runs
  const timeOf = (part: number) => (isExact ? quantileOf(times, part) : quantile(sum, part))
  return {
    runs,
    failed,
    cancelled,
    errorRate: runs === 0 ? 0 : Number((failed / runs).toFixed(4)),
    ...defined({ tests, p50: timeOf(0.5), p95: timeOf(0.95), lastAt: last?.at, lastCode: last?.code }),
    ...(!isExact && { isEstimated: true }),
    ...(sum.cost && { runCost: { runs: sum.cost.runs, ...shownCost(sum.cost) } }),
  }
}

/** The sum of counts. */
export function sumOf(counts: readonly RunCounts[]): RunCounts {
  const nothing: RunCounts = { runs: 0, failed: 0, cancelled: 0, ...noDurations(), callers: {} }
  return counts.reduce(addCounts, nothing)
}

/** The runs without those of test messages, which are only listed. */
function countedAmong(runs: readonly Run[]): readonly Run[] {
  return runs.filter(({ test }) => !test)
}

/** The end and duration of each counted run that was not cancelled. */
function timesOf(runs: readonly Run[]) {
  return countedAmong(runs)
    .filter((run) => outcomeOf(run) !== 'cancelled')
    .map(({ at, ms }) => ({ at, ms }))
}

function callersOf(counts: readonly RunCounts[]) {
  const { callers, failedCallers = {} } = sumOf(counts)
  return Object.entries(callers)
    .map(([by, runs]) => ({
      by,
      runs,
      ...(Object.hasOwn(failedCallers, by) && { failed: failedCallers[by] }),
    }))
    .sort((a, b) => b.runs - a.runs)
}
