import type { BudgetStatus, BudgetUse } from '../../core/budget.ts'
import type { Trouble } from '../../core/trouble.ts'
import { counted } from '../../lib/counted.ts'
import { defined } from '../../lib/defined.ts'
import type { FailingSchedule, StoredReadings } from './readings.ts'
import { dayAndTime, firstLine, timeOfDay, warning } from './trouble-parts.ts'

/** Share of a budget that is a trouble by itself. */
const NEARLY_ALL = 0.9
/** Share of a budget that is a trouble if the rest will not last. */
const MUCH = 0.5
/** Maximum number of senders in a text. */
const MOST_NAMED = 3

/** Troubles of people: approvals that wait for them, failing schedules, and used up budgets. */
export function peopleTroubles({ approvals, schedules, budgets }: StoredReadings): Trouble[] {
  return [
    ...approvalTroubles(approvals),
    ...schedules.map(scheduleTrouble),
    ...budgets.flatMap(budgetTroubles),
  ]
}

function approvalTroubles(approvals: StoredReadings['approvals']): Trouble[] {
  const [oldest] = approvals
  if (!oldest) return []
  const count = approvals.length
  const title = `${counted(count, 'request waits', 'requests wait')} for an approval`
  const text = `The oldest one: ${firstLine(oldest.title).replace(/[.!?]$/, '')}.`
  const todo = 'Decide in the console, or with `trivium approval list --status pending`.'
  return [warning('approval-waiting', {}, { title, text, todo, count, since: oldest.requestedAt })]
}

function scheduleTrouble({ id, name, skill, error: reason, since, count }: FailingSchedule): Trouble {
  return warning(
    'schedule-failed',
    { schedule: id, skill },
    {
      title: `Schedule ${firstLine(name)} fails`,
      text: `The last ${count === 1 ? 'run' : `${count} runs`} of ${skill} failed. ${firstLine(reason)}`,
      todo: 'Fix the skill, then retry the runs: `trivium dead-letter list --queue schedules` lists them.',
      count,
      since,
    },
  )
}

function budgetTroubles(budget: BudgetStatus): Trouble[] {
  const todo = 'Raise `model.budget`, or wait; messages keep their order.'
  if (budget.budget !== 'sender') {
    const { limit, used, most, unit, until } = budget
    const skill = budget.budget === 'skill' ? budget.skill : undefined
    if (until === undefined) return nearlyUsedUp(budget, skill)
    const title = `${nameOfBudget(skill)} is used up (${limit})`
    const text = `${used} of ${most} ${unit} are used. ${skill === undefined ? 'Model' : 'Its'} runs wait until ${timeOfDay(until)}.`
    return [warning('budget', defined({ reason: limit, skill }), { title, text, todo })]
  }
  const { over, limit, more } = budget
  if (over.length === 0) return []
  const title = `${more ? 'More than ' : ''}${counted(over.length, 'sender has', 'senders have')} used up the budget (${limit})`
  const named = over.slice(0, MOST_NAMED).map(({ sender, until }) => `${sender} until ${timeOfDay(until)}`)
  const text = `${named.join(', ')}.`
  return [warning('budget', { reason: limit }, { title, text, todo, count: over.length })]
}

/**
 * A budget of which little is left, or that will be used up before older usage has left its window. Its key
 * differs from that of a budget that is used up, so that both are notified.
 */
function nearlyUsedUp(budget: BudgetUse, skill: string | undefined): Trouble[] {
  const { limit, used, most, unit, left, usedUpAt } = budget
  const share = used / most
  if (share < (usedUpAt === undefined ? NEARLY_ALL : MUCH)) return []
  const isNear = share >= NEARLY_ALL
  const state = isNear ? 'is nearly used up' : 'will be used up'
  const lasts = usedUpAt === undefined ? '' : ` At the current rate it is used up by ${dayAndTime(usedUpAt)}.`
  const text = `${used} of ${most} ${unit} are used, ${left} left.${lasts} ${skill === undefined ? 'Model' : 'Its'} runs wait then.`
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
