import type { BudgetStatus, BudgetUse } from '../../core/budget.ts'
import type { Trouble } from '../../core/trouble.ts'
import { budgetAmount, leftOfBudget, usedOfBudget } from '../../lib/budget-amount.ts'
import { forecastsOf, isNearlyUsedUp } from '../../lib/budget-rate.ts'
import { counted } from '../../lib/counted.ts'
import { defined } from '../../lib/defined.ts'
import { dayAndTime, timeOfDay, warning } from './trouble-parts.ts'

/** A budget of which this share is used is a trouble if the rest will not last. */
const MUCH = 0.5
/** Maximum number of senders in a text. */
const MAX_NAMED = 3

const WAIT_OR_RAISE = 'Raise `model.budget`, or wait; messages keep their order.'

/**
 * A budget that is used up, or nearly. The budget of senders is a trouble only if some senders have
 * used it up.
 */
export function budgetTroubles(budget: BudgetStatus): Trouble[] {
  if (budget.budget === 'sender') return sendersOver(budget)
  const skill = budget.budget === 'skill' ? budget.skill : undefined
  return budget.until === undefined ? nearlyUsedUp(budget, skill) : [usedUp(budget, budget.until, skill)]
}

function sendersOver({ over, limit, more }: BudgetStatus & { budget: 'sender' }): Trouble[] {
  if (over.length === 0) return []
  const count = over.length
  const title = `${more ? 'More than ' : ''}${counted(count, 'sender has', 'senders have')} used up the budget (${limit})`
  const named = over.slice(0, MAX_NAMED).map(({ sender, until }) => `${sender} until ${timeOfDay(until)}`)
  const text = `${named.join(', ')}.`
  return [warning('budget', { reason: limit }, { title, text, todo: WAIT_OR_RAISE, count })]
}

function usedUp(budget: BudgetUse, until: number, skill: string | undefined): Trouble {
  const { limit } = budget
  const title = `${nameOfBudget(skill)} is used up (${limit})`
  const text = `${usedOfBudget(budget)} are used. ${ownerOf(skill)} runs wait until ${timeOfDay(until)}.`
  return warning('budget', defined({ reason: limit, skill }), { title, text, todo: WAIT_OR_RAISE })
}

/**
 * A budget of which little is left, or that is used up soon at the current rate. Its key differs
 * from the key of a used up budget, so people are notified in both cases.
 */
function nearlyUsedUp(budget: BudgetUse, skill: string | undefined): Trouble[] {
  const { limit, used, most, paused } = budget
  // It is not used until the pauses end, which are in the list themselves.
  if (paused) return []
  const isNear = isNearlyUsedUp(budget)
  const forecasts = forecastsOf(budget)
  if (!isNear && (forecasts.length === 0 || used / most < MUCH)) return []
  const state = isNear ? 'is nearly used up' : 'will be used up'
  const ends = forecasts.map(
    ({ rate, usedUpAt }) => ` At ${rate} it is used up at about ${dayAndTime(usedUpAt)}.`,
  )
  const text = `${usedOfBudget(budget)} are used, ${budgetAmount(budget, leftOfBudget(budget))} left.${ends.join('')} ${ownerOf(skill)} runs wait then.`
  const todo = 'Raise `model.budget`, or find out what uses it: `trivium cost` shows it.'
  const where = defined({ reason: limit, skill })
  const trouble = warning('budget', where, {
    title: `${nameOfBudget(skill)} ${state} (${limit})`,
    text,
    todo,
  })
  return [{ ...trouble, key: `${trouble.key} nearly` }]
}

function nameOfBudget(skill: string | undefined): string {
  return `The budget of ${skill === undefined ? 'models' : `the skill ${skill}`}`
}

/** Whose runs wait, at the start of a sentence. */
function ownerOf(skill: string | undefined): string {
  return skill === undefined ? 'Model' : 'Its'
}
