import { forecastsOf } from './budget-rate.ts'
import { counted } from './counted.ts'

type Budget = Readonly<Record<string, unknown>>

/** How times, authors and amounts are written: differently on the command line and in the console. */
type Words = {
  time(at: number): string
  author(by: unknown): string
  /** An amount in the unit of a budget, with the unit. */
  amount(of: Budget, amount: number): string
}

/**
 * What is expected of a budget, as a clause: when it is used up and what happens then, or which pauses
 * keep it from being used and how much is left after them. Empty if it lasts.
 */
export function forecastText(budget: Budget, words: Words): string {
  const ends = forecastsOf(budget).map(({ rate, usedUpAt }) => `at about ${words.time(usedUpAt)} at ${rate}`)
  if (ends.length > 0) return `used up ${ends.join(', or ')}; ${afterwards(budget)}`
  return budget.paused === undefined ? '' : pausedText(budget, words)
}

/** What happens when a budget is used up, after its forecast. */
function afterwards({ skill }: Budget): string {
  return `then ${skill === undefined ? 'messages for models' : 'its messages'} wait, and other calls get an error`
}

function pausedText(budget: Budget, words: Words): string {
  const { by, until, expected } = Object(budget.paused)
  const pauses = Array.isArray(by) ? by.map((pause) => onePause(pause, words)) : []
  const rest = expected ? runsText(budget, words) : ''
  const after = rest && `; ${until === undefined ? 'after the resume' : 'after that'} ${rest}`
  return `not used while ${pauses.join(' and ')}${after}`
}

/** `skill summarise is paused until 9:00 (by ada: too slow)`. */
function onePause(pause: unknown, { time, author }: Words): string {
  const { kind, name, by, reason, until } = Object(pause)
  const end = until === undefined ? '' : ` until ${time(until)}`
  return `${kind} ${name} is paused${end} (by ${author(by)}${reason === undefined ? '' : `: ${reason}`})`
}

/** ` (about 2 runs)`, what is left of a budget pays for; empty if that is not known. */
export function runsLeftText({ paysFor }: Budget): string {
  if (typeof paysFor !== 'number') return ''
  return paysFor === 0 ? ' (less than one run)' : ` (about ${counted(paysFor, 'run')})`
}

/** `0.012 EUR more at 22:00, all by 1 Dec`: when the used part of a budget is free again. */
export function freeText(
  budget: Budget,
  { amount, next, all }: Pick<Words, 'amount'> & { next(at: number): string; all(at: number): string },
): string {
  const { at, amount: part } = Object(budget.nextFree)
  if (typeof at !== 'number' || typeof budget.resetsAt !== 'number') return ''
  const rest = budget.resetsAt > at ? `, all by ${all(budget.resetsAt)}` : ''
  return `${amount(budget, part)} more at ${next(at)}${rest}`
}

/**
 * `the 5 messages that wait use about 0.05 EUR, 0.03 EUR more than is left`: a budget is checked when
 * a run begins, and runs that begin together all find something left.
 */
function runsText(budget: Budget, { amount }: Words): string {
  const { waiting, expected } = Object(budget.paused)
  const { runs, amount: used } = expected
  const are = waiting === 1 ? 'waits' : 'wait'
  const messages = `${counted(waiting, 'message')} that ${are}`
  const more = used - Number(budget.left)
  const most =
    more > 0 ? `, ${amount(budget, more)} more than is left, as runs that have begun are not stopped` : ''
  const use = `about ${amount(budget, used)}${most}`
  if (runs >= waiting)
    return `the ${messages} ${waiting === 1 ? 'runs' : 'run'} and ${waiting === 1 ? 'uses' : 'use'} ${use}`
  return `about ${runs} of the ${messages} run and use ${use}; the others wait for the budget`
}
