import { shownAuthor } from '../../core/author.ts'
import { budgetAmount, leftOfBudget, usedOfBudget } from '../../lib/budget-amount.ts'
import { forecastText, freeText, runsLeftText } from '../../lib/budget-forecast.ts'
import { isFar } from '../../lib/budget-rate.ts'
import { paint } from '../../lib/paint.ts'

/** A budget as `cost` and `status` list it. */
type Budget = Record<string, unknown>

/** Maximum number of senders in a line. */
const MOST_SENDERS = 10

/** The line of a budget: its limit, what is used and left, and when what is used is free again. */
export function budgetLine(of: Budget): string {
  const { budget, skill, limit, until, over, fullest } = of
  if (budget === 'sender') {
    const senders = Array.isArray(over)
      ? over.map(({ sender, until }) => `${sender} until ${minute(until)}`)
      : []
    const more = senders.length > MOST_SENDERS ? `, ${senders.length - MOST_SENDERS} more` : ''
    const [first] = Array.isArray(fullest) ? fullest : []
    const most = first
      ? `; ${first.sender} has used most: ${usedOfBudget(first)}, ${budgetAmount(first, leftOfBudget(first))} left`
      : ''
    return `Budget of each sender  ${limit}: ${senders.slice(0, MOST_SENDERS).join(', ') || 'nobody waits'}${more}${most}`
  }
  const state =
    until === undefined
      ? `${budgetAmount(of, leftOfBudget(of))} left${runsLeftText(of)}`
      : `${paint('red', 'USED UP')}, available again at ${minute(until)}`
  const forecast = forecastText(of, {
    time: minute,
    author: shownAuthor,
    amount: budgetAmount,
  })
  const free = freeText(of, { amount: budgetAmount, next: minute, all: freeAt })
  const reset = free && `; free again: ${free}`
  return `Budget of ${budget === 'skill' ? skill : 'all'}  ${limit}: ${usedOfBudget(of)}, ${state}${forecast && `; ${forecast}`}${reset}`
}

/** What happens when a budget is used up. */
export const WHEN_USED_UP =
  'When a budget is used up, runs that it applies to do not begin: messages are accepted and wait, other callers get an error. They run when earlier usage leaves the window, or the budget is raised.'

/** Where budgets are set. */
export const BUDGETS_ARE_SET =
  'Budgets are set in `model.budget` of routes.yaml; a change applies when the file is saved.'

/** Usage leaves the window in steps, which are hours long in a window of days. */
function freeAt(time: unknown): string {
  return isFar(Number(time), Date.now()) ? minute(time).slice(0, 10) : minute(time)
}

function minute(time: unknown): string {
  return `${new Date(Number(time)).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}
