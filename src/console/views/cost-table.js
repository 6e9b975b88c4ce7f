import { ERASED } from '../../lib/erased.ts'
import { BudgetInShort } from '../lib/budget.js'
import { daysBetween } from '../lib/days.js'
import { html } from '../lib/html.js'
import { money, percent, tokens } from '../lib/money.js'
import { link } from '../lib/router.js'
import { amountOf, measureOf, wholeRange } from './cost-words.js'

/** The rows, which lead to their parts and to their messages. */
export function CostTable({ of: { by, from, to, currency, rows: used, total, budgets }, query, children }) {
  const rows = by === 'day' ? used.toReversed() : used
  const measure = measureOf(used)
  const most = Math.max(...used.map(measure), Number.MIN_VALUE)
  const all = Math.max(measure(total), Number.MIN_VALUE)
  const hasBudgets = by === 'skill' && budgets.some(({ budget }) => budget === 'skill')
  const hasMessages = by !== 'model'
  const hasRuns = rows.some(({ runs }) => runs !== undefined)
  return html`<div class="bar cost-head"><h2 id="rows">By ${by}, ${wholeRange(from, to)}</h2>${children}</div>
    <div class="scrolls" tabindex="0" role="region" aria-label="Cost by ${by}"><table class="cost" aria-labelledby="rows">
      <thead><tr><th scope="col">${by}</th><th scope="col" class="number">cost</th><th scope="col" class="number">share</th><th scope="col" class="number wide">in</th><th scope="col" class="number wide">out</th><th scope="col" class="number wide">steps</th>${hasRuns && html`<th scope="col" class="number wide">runs</th><th scope="col" class="number">cost of a run</th>`}${hasBudgets && html`<th scope="col" class="budget-column wide">budget</th>`}${hasMessages && html`<th scope="col" class="leads">leads to</th>`}</tr></thead>
      <tbody>${rows.map(
        (
          row,
        ) => html`<tr key=${row.name}><td class="share" style=${{ '--share': measure(row) / most }}>${drill(by, row.name, query)}</td>
        <td class="number">${amountOf(row, currency)}</td><td class="number">${percent(measure(row) / all)}</td>
        <td class="number wide" title=${row.inputTokens.toLocaleString('en')}>${tokens(row.inputTokens)}</td><td class="number wide" title=${row.outputTokens.toLocaleString('en')}>${tokens(row.outputTokens)}</td>
        <td class="number wide">${row.steps.toLocaleString('en')}</td>${hasRuns && html`<${RunCells} of=${row} currency=${currency} />`}${hasBudgets && html`<td class="budget-column wide"><${SkillBudget} of=${budgets.filter(({ skill }) => skill === row.name)} /></td>`}${hasMessages && html`<td class="leads"><${Messages} by=${by} name=${row.name} query=${query} /></td>`}</tr>`,
      )}</tbody></table></div>
    ${hasRuns && html`<p class="dim">Runs are those that ended in this time. The cost of a run is the average of those that used a model, with all of their steps; a run that waits for an approval counts when it has ended.</p>`}
    ${by === 'day' && html`<${EmptyDays} from=${from} to=${to} used=${used} />`}`
}

/** The number of ended runs of a skill, and what one that used a model cost on average. */
function RunCells({ of: { runs, runCost }, currency }) {
  return html`<td class="number wide">${runs?.toLocaleString('en')}</td><td class="number">${runCost?.money !== undefined && money(runCost.money / runCost.runs, currency)}</td>`
}

function EmptyDays({ from, to, used }) {
  const count = daysBetween(from, to).length - used.length
  return count > 0 && html`<p class="dim">${count.toLocaleString('en')} days without usage are left out.</p>`
}

const NEXT = { model: 'skill', skill: 'sender', gateway: 'sender', sender: 'day', day: 'skill' }

/**
 * A row leads to its parts: a model to its skills, a skill or gateway to its senders, a sender to
 * its days, a day to its skills.
 */
export function drill(by, name, query) {
  if (name.startsWith('(')) return name
  const only = by === 'day' ? { since: `${name}T00:00:00Z`, until: `${name}T23:59:59Z` } : { [by]: name }
  return html`<a href=${link('cost', { ...query, by: NEXT[by], ...only })}>${name}</a>`
}

const PROGRAMS = /^(role|token|oidc|control-token):/

/** The messages that caused the cost: those of a sender or gateway, or the runs of a skill. */
function Messages({ by, name, query: { since = '7d', until } }) {
  const span = { since, ...(until && { until }) }
  if (by === 'skill') return html`<a href=${link(['skills', name], { ...span, at: 'runs' })}>its runs</a>`
  if (by === 'day')
    return html`<a href=${link('messages', { since: `${name}T00:00:00Z`, until: `${name}T23:59:59Z` })}>messages</a>`
  const query = by === 'gateway' && !name.startsWith('(') ? { gateway: name } : messagesOf(name)
  return query ? html`<a href=${link('messages', { ...query, ...span })}>messages</a>` : null
}

/** The filter of the messages of a sender such as `crm:U04KQ`; undefined for programs. */
export function messagesOf(name) {
  if (name.startsWith('(') || PROGRAMS.test(name)) return undefined
  const [, gateway, sender] = /^([\w.-]+)[:/](?:external:)?(.+)$/s.exec(name) ?? []
  if (gateway === undefined || sender === ERASED) return undefined
  return { gateway, ...(sender !== 'unverified' && { search: `from:"${sender}"` }) }
}

/** How much of its budgets a skill has used. */
function SkillBudget({ of }) {
  return of.map(
    (each) => html`<span key=${each.limit} class="skill-budget"><${BudgetInShort} of=${each} /></span>`,
  )
}
