import { counted } from './counted.ts'

type Budget = Readonly<Record<string, unknown>>
type Pause = { readonly kind?: unknown; readonly name?: unknown }

/** How times and amounts are written: differently on the command line and in the console. */
type Words = { time(at: number): string; amount(of: Budget, amount: number): string }

/**
 * The expected budget use of messages that wait for a pause, after its end. One sentence for each
 * budget that only this pause keeps from being used.
 */
export function resumedUseText(budgets: readonly Budget[], pause: Pause, words: Words): string {
  return budgets.flatMap((budget) => useOf(budget, pause, words)).join(' ')
}

function useOf(budget: Budget, pause: Pause, { time, amount }: Words): string[] {
  const { by, waiting, expected } = Object(budget.paused)
  const isOnly = Array.isArray(by) && by.length === 1 && isSame(Object(by[0]), pause)
  if (!isOnly || !expected) return []
  const { runs, amount: used, until } = expected
  const whose = budget.skill === undefined ? 'of all models' : `of ${budget.skill}`
  const left = `the budget ${whose} has ${amount(budget, Number(budget.left))} left`
  const who = runs < waiting ? `About ${counted(runs, 'run')} ${runs === 1 ? 'uses' : 'use'}` : 'This uses'
  const others = runs < waiting ? '; the others wait for it' : ''
  const end = typeof until === 'number' ? ` and is then used up until about ${time(until)}${others}` : ''
  return [`${who} about ${amount(budget, used)}; ${left}${end}.`]
}

function isSame(one: Pause, other: Pause): boolean {
  return one.kind === other.kind && one.name === other.name
}
