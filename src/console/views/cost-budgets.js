import { BudgetLeft, BudgetLine, HowToSet, untilText, WhenUsedUp } from '../lib/budget.js'
import { html } from '../lib/html.js'
import { link } from '../lib/router.js'
import { drill, messagesOf } from './cost-table.js'

const TOP_SENDERS = 3

/** One line per budget: what is used and left, when it is used up and what happens then, and who waits. */
export function Budgets({ of: budgets, query }) {
  return (
    budgets.length > 0 &&
    html`<ul class="plain budget-lines" aria-label="Budgets">${budgets.map(
      (each, index) =>
        html`<li key=${index}>${each.budget === 'sender' ? html`<${OfSenders} of=${each} query=${query} />` : html`<${BudgetLine} of=${each} name=${nameOf(each)} />`}</li>`,
    )}</ul><${WhenUsedUp} />`
  )
}

function nameOf({ budget, skill }) {
  return budget === 'skill'
    ? html`Budget of <a href=${link(['skills', skill])}>${skill}</a>`
    : 'Budget of all'
}

function OfSenders({ of: { limit, over, more, fullest }, query }) {
  return html`<span><b>Budget of each sender</b> <span class="dim">${limit}</span></span>
    ${over.length === 0 ? html`<span class="dim">Nobody has used it up.${fullest && ' Who has used most:'}</span>` : html`<span><b class="bad">used up</b> by ${over.map((one, at) => html`${at > 0 && ', '}${one.sender} <span class="dim">until ${untilText(one)}</span> <${WaitsOf} sender=${one.sender} />`)}${more && ' and others'}</span>`}
    <${TopBudgetUsers} of=${fullest} query=${query} />`
}

/** A link to the messages of a sender that wait for a budget. */
function WaitsOf({ sender }) {
  const query = messagesOf(sender)
  return query && html`<a href=${link('messages', { ...query, outcome: 'waiting' })}>what waits</a>`
}

/** The senders who have used the largest share of their budgets, with what they have left. */
function TopBudgetUsers({ of = [], query }) {
  return (
    of.length > 0 &&
    html`<ul class="plain fullest" aria-label="Who has used most">${of.slice(0, TOP_SENDERS).map((each) => html`<li key=${`${each.sender} ${each.limit}`}>${drill('sender', each.sender, query)} <span class="skill-budget"><${BudgetLeft} of=${each} /></span></li>`)}</ul>`
  )
}

/** What budgets do and how they are set, folded. */
export function AboutBudgets({ of: budgets, isOpen = false }) {
  return html`<details class="after" open=${isOpen}><summary>${budgets.length === 0 ? 'No budget is set: how to set one' : 'How to change a budget'}</summary>
    <${HowToSet} example="budget: { sender: 200k tokens/1d, total: 20 EUR/30d, skill: { helper: 5 EUR/7d } }" /></details>`
}
