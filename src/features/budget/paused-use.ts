import type { BudgetStatus, ExpectedUse, NamedPause, PausedUse } from '../../core/budget.ts'
import { defined } from '../../lib/defined.ts'
import type { LaterBudgets } from './budgets.ts'

/** A job of dispatch as pauses see it. `group`: its route. */
type Job = { id: string; lane: string; group: string }

/** What models used lately. */
export type LatelyUsed = {
  /** Tokens by skill and gateway; without a gateway, they were used by a schedule or a program. */
  spent: readonly { skill: string; gateway?: string; tokens: number }[]
  /** The callers of a skill, such as `route orders`, with their numbers of runs. */
  callersOf(skill: string): readonly { by: string; runs: number }[]
  /** What runs of these skills used that used a model. */
  costOf(skills: readonly string[]): { runs: number; tokens: number; money: number } | undefined
}

type Deps = {
  pauses: { list(): readonly NamedPause[]; pausesOf(job: Job): readonly NamedPause[] }
  /** The messages that pauses hold. */
  held(): Promise<readonly Job[]>
  /** How many messages of a route run at the same time. */
  concurrencyOf(route: string): number
  lately(): Promise<LatelyUsed | undefined>
  later: LaterBudgets
  now(): number
}

/** How long (ms) the held messages are cached: the state of the budgets is read every second. */
const HELD_FOR = 2_000

type ReadStatus<Args extends readonly unknown[]> = (...args: Args) => Promise<BudgetStatus[]>

/**
 * The state of the budgets, with the number of runs that what is left pays for. Pauses take the place of
 * a forecast: a budget is not used while they hold everything that used it lately.
 */
export function withPausedUse<Args extends readonly unknown[]>(
  read: ReadStatus<Args>,
  deps: Deps,
): ReadStatus<Args> {
  let known: { at: number; held: Promise<readonly Job[]> } | undefined
  const readHeld = () => {
    if (!known || deps.now() - known.at >= HELD_FOR) known = { at: deps.now(), held: deps.held() }
    return known.held
  }
  return async (...args) => {
    const found = await read(...args)
    const lately = found.some(isInUse) ? await deps.lately() : undefined
    if (!lately) return found
    const budgets = found.map((budget) => withRunsLeft(budget, lately))
    if (deps.pauses.list().length === 0 || !budgets.some(isForecast)) return budgets
    const held = await readHeld()
    const withPaused = budgets.map(async (budget) => {
      if (!isForecast(budget)) return budget
      const found = pausedUseOf(budget, lately, held, deps)
      if (!found) return budget
      const { usedUpAt: _, rate: usual, lastHour, ...rest } = budget
      const rate = usual ?? lastHour?.rate
      return { ...rest, paused: { ...(await withExpected(budget, found, deps)), ...defined({ rate }) } }
    })
    return Promise.all(withPaused)
  }
}

/** Whether a part of a budget is used, and another is left. */
function isInUse(budget: BudgetStatus): budget is Shared {
  return budget.budget !== 'sender' && budget.until === undefined && budget.used > 0
}

/** Adds the number of runs that what is left pays for. */
function withRunsLeft(budget: BudgetStatus, lately: LatelyUsed): BudgetStatus {
  if (!isInUse(budget)) return budget
  const ofRun = costOfRun(budget, spendersOf(budget, lately), lately)
  return ofRun > 0 ? { ...budget, paysFor: Math.floor(budget.left / ofRun) } : budget
}

/** The skills that used most of a budget lately. */
function spendersOf(budget: Shared, { spent }: LatelyUsed) {
  const own = spent.filter(({ skill }) => budget.budget === 'total' || skill === budget.skill)
  return main(own, ({ tokens }) => tokens)
}

/** What a run of these skills used lately, in the unit of the budget; 0 if that is not known. */
function costOfRun({ unit }: Shared, spenders: readonly { skill: string }[], { costOf }: LatelyUsed): number {
  const cost = costOf([...new Set(spenders.map(({ skill }) => skill))])
  return cost && cost.runs > 0 ? (unit === 'tokens' ? cost.tokens : cost.money) / cost.runs : 0
}

/** Adds what the waiting messages use if the pauses end now, and when they end by themselves. */
async function withExpected(
  budget: Shared,
  { paused, use }: { paused: PausedUse; use: Use },
  { later, now }: Pick<Deps, 'later' | 'now'>,
): Promise<PausedUse> {
  /** Adds when the budget is available again, if they use it up. */
  const expectedAt = async (at: number, left: number): Promise<ExpectedUse | undefined> => {
    const expected = expectedOf(left, use)
    if (!expected || expected.amount < left) return expected
    return { ...expected, ...defined({ until: await later.availableAfter(budget, expected.amount, at) }) }
  }
  const left = paused.until === undefined ? undefined : await later.leftAt(budget, paused.until)
  const [expected, afterEnd] = await Promise.all([
    expectedAt(now(), budget.left),
    paused.until === undefined || left === undefined ? undefined : expectedAt(paused.until, left),
  ])
  const atEnd = left === undefined ? undefined : afterEnd && { ...afterEnd, left }
  return { ...paused, ...defined({ expected, atEnd }) }
}

type Shared = Exclude<BudgetStatus, { budget: 'sender' }>

/** Budgets with this share used are of interest even if they last. */
const MUCH = 0.5

/** Whether the end of a budget is in sight. */
function isForecast(budget: BudgetStatus): budget is Shared {
  if (budget.budget === 'sender' || budget.until !== undefined) return false
  return (budget.usedUpAt ?? budget.lastHour) !== undefined || budget.used >= MUCH * budget.most
}

/** Callers and spenders with a smaller share than this do not count. */
const MINOR = 0.05

function pausedUseOf(
  budget: Shared,
  lately: LatelyUsed,
  held: readonly Job[],
  { pauses, concurrencyOf }: Pick<Deps, 'pauses' | 'concurrencyOf'>,
): { paused: PausedUse; use: Use } | undefined {
  const spenders = spendersOf(budget, lately)
  const ways = spenders.flatMap(({ skill, gateway }) => waysOf(skill, gateway, lately, pauses))
  if (ways.length === 0 || ways.some((way) => way.pauses.length === 0)) return undefined
  const routes = new Set(ways.map(({ route }) => route))
  const waiting = held.filter(({ group }) => routes.has(group))
  const until = Math.min(...ways.map((way) => Math.max(...way.pauses.map(endOf))))
  return {
    paused: {
      by: distinct(ways.flatMap((way) => way.pauses)),
      ...(Number.isFinite(until) && { until }),
      waiting: waiting.length,
    },
    use: {
      ofRun: costOfRun(budget, spenders, lately),
      waiting: waiting.length,
      together: togetherOf(waiting, concurrencyOf),
    },
  }
}

/**
 * The messages that wait for a pause. `ofRun`: what a run uses, in the unit of a budget; 0 if unknown.
 * `together`: how many run at the same time.
 */
type Use = { ofRun: number; waiting: number; together: number }

/** What the messages that wait use, if this is left. */
function expectedOf(left: number, { ofRun, waiting, together }: Use): ExpectedUse | undefined {
  if (ofRun <= 0 || waiting === 0) return undefined
  // The last run begins while something is left, beside those that have not ended yet.
  const runs = Math.min(waiting, Math.ceil(left / ofRun) + together - 1)
  return { runs, amount: Number((runs * ofRun).toPrecision(3)) }
}

/** How many of the jobs run at the same time: one of each lane, up to the limits of their routes. */
function togetherOf(jobs: readonly Job[], concurrencyOf: (route: string) => number): number {
  const lanes = Map.groupBy(jobs, ({ group }) => group)
  return [...lanes].reduce(
    (sum, [route, own]) => sum + Math.min(new Set(own.map(({ lane }) => lane)).size, concurrencyOf(route)),
    0,
  )
}

/** How a skill is run: by a route, or otherwise. `pauses`: those that hold these runs. */
type Way = { route?: string; pauses: readonly NamedPause[] }

/**
 * The ways in which a skill is run for messages of a gateway, through the skills that call it;
 * without a gateway, those that need no message. `seen`: the skills on the way here.
 */
function waysOf(
  skill: string,
  gateway: string | undefined,
  lately: LatelyUsed,
  pauses: Deps['pauses'],
  seen: readonly string[] = [],
): Way[] {
  if (seen.includes(skill)) return []
  const own = pauses.list().filter((pause) => pause.kind === 'skill' && pause.name === skill)
  return main(lately.callersOf(skill), ({ runs }) => runs).flatMap(({ by }): Way[] => {
    const [, kind, name = ''] = /^(\S+) (.+)$/.exec(by) ?? []
    if (kind === 'skill')
      return waysOf(name, gateway, lately, pauses, [...seen, skill]).map((way) => withPauses(way, own))
    const isOfMessages = kind === 'route'
    if (isOfMessages !== (gateway !== undefined)) return []
    if (isOfMessages)
      return [{ route: name, pauses: pauses.pausesOf({ id: '-', lane: `${gateway}/-`, group: name }) }]
    // The pause of a skill does not hold direct calls by operators.
    const isByHand = kind === 'cli' || (kind === 'http' && !name.startsWith('token:'))
    return [{ pauses: isByHand ? [] : own }]
  })
}

/** A way that these pauses hold too. */
function withPauses(way: Way, pauses: readonly NamedPause[]): Way {
  return { ...way, pauses: [...way.pauses, ...pauses] }
}

/** Those with more than a minor share of the sum. */
function main<T>(of: readonly T[], amount: (each: T) => number): T[] {
  const sum = of.reduce((total, each) => total + amount(each), 0)
  return of.filter((each) => amount(each) > sum * MINOR)
}

const endOf = ({ until = Number.POSITIVE_INFINITY }: NamedPause) => until

function distinct(pauses: readonly NamedPause[]): NamedPause[] {
  const byName = new Map(pauses.map((pause) => [`${pause.kind} ${pause.name}`, pause]))
  return [...byName.values()].map(({ kind, name, by, reason, until }) => ({
    kind,
    name,
    by,
    ...defined({ reason, until }),
  }))
}
