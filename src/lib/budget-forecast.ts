import { ageText } from './age-text.ts'
import { forecastsOf, rateText } from './budget-rate.ts'
import { counted } from './counted.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
/** A rest that lasts longer than these days is no forecast. */
const MOST_DAYS = 30

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
  const { by, until } = Object(budget.paused)
  const pauses = Array.isArray(by) ? by.map((pause) => onePause(pause, words)) : []
  const rest = [runsText(budget, words), lastsText(budget)].filter(Boolean).join('; ')
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

/** What is expected of a budget when its pauses end: by themselves, or when they are ended now. */
function endOf(budget: Budget) {
  const { expected, atEnd } = Object(budget.paused)
  const left = Number(atEnd?.left ?? budget.left)
  return { expected: atEnd ?? expected, left, isLater: left !== budget.left }
}

/** `the rest lasts for about 2 h at 0.22 EUR a day (as in the last 24 hours)`. */
function lastsText(budget: Budget): string {
  const { rate } = Object(budget.paused)
  const { expected, left } = endOf(budget)
  if (!rate) return ''
  const rest = left - Number(expected?.amount ?? 0)
  const lasts = (rest / Number(rate.amount)) * (rate.per === 'hour' ? HOUR : DAY)
  if (!(rest > 0 && lasts < MOST_DAYS * DAY)) return ''
  return `${expected ? 'the rest' : 'what is left'} lasts for about ${ageText(lasts)} at ${rateText({ rate, unit: budget.unit })}`
}

/**
 * `the 5 messages that wait use about 0.05 EUR, 0.03 EUR more than is left`: a budget is checked when
 * a run begins, and runs that begin together all find something left. Empty if nothing waits.
 */
function runsText(budget: Budget, { amount }: Words): string {
  const { waiting } = Object(budget.paused)
  const { expected, left, isLater } = endOf(budget)
  if (!expected) return ''
  const { runs, amount: used } = expected
  const are = waiting === 1 ? 'waits' : 'wait'
  const messages = `${counted(waiting, 'message')} that ${are}`
  const more = used - left
  const then = isLater ? ' then' : ''
  const most =
    more > 0
      ? `, ${amount(budget, more)} more than is left${then}, as runs that have begun are not stopped`
      : isLater
        ? ` of the ${amount(budget, left)} left then`
        : ''
  const use = `about ${amount(budget, used)}${most}`
  if (runs >= waiting)
    return `the ${messages} ${waiting === 1 ? 'runs' : 'run'} and ${waiting === 1 ? 'uses' : 'use'} ${use}`
  return `about ${runs} of the ${messages} run and use ${use}; the others wait for the budget`
}
