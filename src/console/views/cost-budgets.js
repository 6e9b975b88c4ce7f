import { Budget, BudgetLeft, expected, HowToSet, untilText, WhenUsedUp } from '../lib/budget.js'
import { html } from '../lib/html.js'
import { link } from '../lib/router.js'
import { drill } from './cost-table.js'

const TOP_SENDERS = 3

/** One line per budget of all or of a skill: what is left, and when it is used up. */
export function BudgetLines({ of: budgets }) {
  const shared = budgets.filter(({ budget }) => budget !== 'sender')
  return (
    shared.length > 0 &&
    html`<ul class="plain budget-lines" aria-label="Budgets in short">${shared.map(
      (each, index) =>
        html`<li key=${index}><span>${nameOf(each)} <span class="dim">${each.limit}</span></span> <span class="skill-budget"><${BudgetLeft} of=${each} /></span> ${each.until === undefined ? html`<span class="dim">${expected(each)}</span>` : html`<b class="bad">used up; runs go on at ${untilText(each)}</b>`}</li>`,
    )}</ul>`
  )
}

function nameOf({ budget, skill }) {
  return budget === 'skill'
    ? html`Budget of <a href=${link(['skills', skill])}>${skill}</a>`
    : 'Budget of all'
}

/** The usage of each budget, and who is waiting. */
export function Budgets({ of: budgets, query }) {
  return (
    budgets.length > 0 &&
    html`<h2>Budgets</h2><ul class="budgets" aria-label="Budgets">${budgets.map((each, index) =>
      each.budget === 'sender'
        ? html`<li key=${index} class="card"><p><b>Budget of each sender</b> ${each.limit}</p>
          ${each.over.length === 0 ? html`<p class="dim">Nobody has used it up.${each.fullest && ' Who has used most:'}</p>` : html`<ul class="plain">${each.over.map((one) => html`<li key=${one.sender}>${one.sender} <span class="dim">waits until ${untilText(one)}</span></li>`)}${each.more && html`<li class="dim">and others</li>`}</ul>`}<${TopBudgetUsers} of=${each.fullest} query=${query} /></li>`
        : html`<li key=${index} class="card"><${Budget} of=${each} name=${nameOf(each)} /></li>`,
    )}</ul>`
  )
}

/** The senders who have used the largest share of their budgets, with what they have left. */
function TopBudgetUsers({ of = [], query }) {
  return (
    of.length > 0 &&
    html`<ul class="plain fullest">${of.slice(0, TOP_SENDERS).map((each) => html`<li key=${`${each.sender} ${each.limit}`}>${drill('sender', each.sender, query)} <span class="skill-budget"><${BudgetLeft} of=${each} /></span></li>`)}</ul>`
  )
}

/** What budgets do and how they are set, folded. */
export function AboutBudgets({ of: budgets, isOpen = false }) {
  return html`<details class="after" open=${isOpen}><summary>${budgets.length === 0 ? 'No budget is set: how to set one' : 'When a budget is used up, and how to change it'}</summary>
    ${budgets.length > 0 && html`<${WhenUsedUp} />`}
    <${HowToSet} example="budget: { sender: 200k tokens/1d, total: 20 EUR/30d, skill: { helper: 5 EUR/7d } }" /></details>`
}
