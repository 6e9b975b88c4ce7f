import { leftOfBudget } from '../../lib/budget-amount.ts'
import { forecastText, freeText, runsLeftText } from '../../lib/budget-forecast.ts'
import { isFar } from '../../lib/budget-rate.ts'
import { authorOf } from './authors.js'
import { amountIn, usedOf } from './budget-amount.js'
import { clockOf } from './clock-of.js'
import { html } from './html.js'
import { link } from './router.js'
import { skillsWaiting, WaitForBudget } from './used-up.js'

/** A budget for all together or for one skill: what is used and left, and when it is free again. */
export function BudgetLine({ of: budget, name }) {
  return html`<span><b>${name}</b> <span class="dim">${budget.limit}</span></span> <span class="skill-budget"><${Meter} of=${budget} /> <span>${usedOf(budget)} spent, <b>${amountLeft(budget)} left</b>${runsLeftText(budget)}</span></span>
    <span class="budget-ends"><${Ends} of=${budget} /></span>`
}

function Meter({ of: { used, most, limit } }) {
  return html`<meter min="0" max=${most} value=${used} low=${0.8 * most} high=${0.999_999 * most} optimum="0" aria-label=${`Used of ${limit}`}></meter>`
}

/** When it is used up, or when the used part is free again, because it has left the sliding window. */
function Ends({ of }) {
  const { until, resetsAt } = of
  const forecast = expected(of)
  if (until !== undefined)
    return html`<b class="bad">Used up.</b> Messages wait, and go on at <b>${minute(until)}</b>; other calls get an error. ${waiting(of)}`
  if (resetsAt === undefined) return html`<span class="dim">Nothing was used in its window.</span>`
  return html`${forecast && (of.paused ? `${upperFirst(forecast)}. ` : html`<b>${upperFirst(forecast)}.</b> `)}<span class="dim">Free again: ${freeText(of, { amount: amountIn, next: clockOf, all: freeAt })}.</span>`
}

/** The messages that wait for a used-up budget: those of its skill, or of each skill. */
function waiting({ skill }) {
  if (skill !== undefined)
    return html`<${WaitForBudget} of=${{ kind: 'skill', name: skill }} what="message" end="." />`
  return skillsWaiting().map(
    (name) =>
      html`<${WaitForBudget} key=${name} of=${{ kind: 'skill', name }} what="message" end=${` for ${name}. `} />`,
  )
}

/** What is expected of a budget, and what happens then. Empty if it lasts. */
const expected = (of) =>
  forecastText(of, { time: clockOf, author: (by) => authorOf(by) ?? 'somebody', amount: amountIn })

const upperFirst = (text) => text.charAt(0).toUpperCase() + text.slice(1)

/** When the runs that wait for a budget go on. */
export const untilText = ({ until }) => minute(until)

const DAY_PARTS = { day: 'numeric', month: 'short' }
const DAY = new Intl.DateTimeFormat('en-GB', DAY_PARTS)
const MINUTE = new Intl.DateTimeFormat('en-GB', { ...DAY_PARTS, hour: '2-digit', minute: '2-digit' })

const minute = (at) => MINUTE.format(at)

/** Usage leaves the window in steps, which are hours long in a window of days. */
const freeAt = (at) => (isFar(at, Date.now()) ? DAY.format(at) : minute(at))

/** What is used of a budget, in a row. */
export function BudgetInShort({ of }) {
  return html`<${Meter} of=${of} /> <span class="dim">${usedOf(of)}${of.until === undefined ? '' : `, goes on at ${minute(of.until)}`}</span>`
}

/** What is left of a budget: `0.025 EUR`, `12k tokens`. */
export function amountLeft(budget) {
  return amountIn(budget, leftOfBudget(budget))
}

/** What is left of a budget, in a row. */
export function BudgetLeft({ of }) {
  return html`<${Meter} of=${of} /> <span>${amountLeft(of)} left</span>`
}

/** What happens when a budget is used up. */
export function WhenUsedUp() {
  return html`<p class="dim">When a budget is used up, messages keep their places and wait until earlier usage leaves the window or the budget is raised; their senders are notified once. Other calls get an error. Runs that have begun are not stopped.</p>`
}

/** What to edit for another budget. `example`: a value of `model.budget`. */
export function HowToSet({ example }) {
  return html`<p class="hint">Budgets are set in <code>model.budget</code> of <a href=${link('configuration')}>routes.yaml</a>, for each sender, for all together and for single skills: <code>${example}</code>. A change applies when the file is saved.</p>`
}
