import { invoke } from '../lib/api.js'
import { Budget, BudgetInShort, BudgetLeft, HowToSet, WhenUsedUp } from '../lib/budget.js'
import { stepsBetween } from '../lib/days.js'
import { Figure } from '../lib/figure.js'
import { html } from '../lib/html.js'
import { money, tokens } from '../lib/money.js'
import { Badge, CopyLink, dateTime, Empty, useLoaded, Wait } from '../lib/parts.js'
import { RANGES, Range } from '../lib/range.js'
import { link, replace } from '../lib/router.js'

const BY = [
  ['model', 'Model'],
  ['skill', 'Skill'],
  ['sender', 'Sender'],
  ['day', 'Day'],
]
const SPANS = [...RANGES, ['30d', 'last 30 days'], ['90d', 'last 90 days'], ['365d', 'last year']]
const FILTERS = ['model', 'skill', 'sender']

/** Usage of models in tokens and money; rows lead to their details. */
export function CostPage({ query }) {
  const { by = 'model', since = '7d', until = '' } = query
  const range = { since, ...(until && { until }) }
  const only = Object.fromEntries(FILTERS.flatMap((key) => (query[key] ? [[key, query[key]]] : [])))
  const loaded = useLoaded(
    async (signal) => {
      const [shown, steps, senders] = await Promise.all([
        invoke('cost', { by, ...range, ...only }, signal),
        invoke('cost', { by: 'time', ...range, ...only }, signal),
        invoke('cost', { by: 'sender', ...range, ...only }, signal),
      ])
      return { shown, steps, senders: senders.rows }
    },
    [JSON.stringify(query)],
  )
  const { value } = loaded
  const set = (change) => replace('cost', { ...query, ...change })
  return html`<section class="page" aria-labelledby="title">
    <header class="bar"><h1 id="title">Cost</h1>
      <div class="filter">
        <div class="segments" role="group" aria-label="Add up by">${BY.map(([key, name]) => html`<button key=${key} type="button" aria-pressed=${by === key} onClick=${() => set({ by: key })}>${name}</button>`)}</div>
        <${Range} query=${query} set=${set} ranges=${SPANS} normal="7d" />
        <${CopyLink} />
      </div></header>
    ${
      Object.keys(only).length > 0 &&
      html`<p class="buttons">${Object.entries(only).map(
        ([key, value]) =>
          html`<button key=${key} type="button" onClick=${() => set({ [key]: undefined })} aria-label=${`Remove the filter ${key} ${value}`}>${key}: ${value} ✕</button>`,
      )}</p>`
    }
    <${Wait} of=${loaded} what="the cost" />
    ${value && html`<${Shown} of=${value.shown} steps=${value.steps} senders=${value.senders} query=${query} />`}
  </section>`
}

function Shown({ of: { by, from, to, currency, total, rows: used, budgets }, steps, senders, query }) {
  const rows = by === 'day' ? used.toReversed() : used
  if (used.length === 0)
    return html`<${Budgets} of=${budgets} senders=${[]} /><${AboutBudgets} of=${budgets} /><${Empty} title="No model was used in this time.">Skills on a <code>model</code> show their tokens and cost here.<//>`
  const shareOf = measureOf(used)
  const most = Math.max(...used.map(shareOf), Number.MIN_VALUE)
  const isBySkill = by === 'skill'
  return html`<div class="figures-row">
      <${Figure} name="Cost" value=${amountOf(total, currency)} />
      <${Figure} name="Tokens in" value=${tokens(total.inputTokens)} />
      <${Figure} name="Tokens out" value=${tokens(total.outputTokens)} />
      <${Figure} name="Steps" value=${total.steps.toLocaleString('en')} />
    </div>
    ${total.unpriced > 0 && html`<p class="note"><${Badge} kind="warn">no price<//> ${tokens(total.unpriced)} tokens are not in the cost: <code>prices</code> in routes.yaml has no price for their model.</p>`}
    <${Budgets} of=${budgets} senders=${senders} currency=${currency} query=${query} />
    ${steps.rows.length > 0 && html`<${Bars} of=${steps} currency=${currency} />`}
    <div class="scrolls" tabindex="0" role="region" aria-label="Cost by ${by}"><table class="cost">
      <caption>By ${by}, ${rangeIn(from, to)}</caption>
      <thead><tr><th scope="col">${by}</th><th scope="col" class="number">in</th><th scope="col" class="number">out</th><th scope="col" class="number wide">steps</th><th scope="col" class="number">cost</th>${isBySkill && html`<th scope="col" class="budget-column">budget</th>`}</tr></thead>
      <tbody>${rows.map(
        (
          row,
        ) => html`<tr key=${row.name}><td class="share" style=${{ '--share': shareOf(row) / most }}>${drill(by, row.name, query)}</td>
        <td class="number" title=${row.inputTokens.toLocaleString('en')}>${tokens(row.inputTokens)}</td><td class="number" title=${row.outputTokens.toLocaleString('en')}>${tokens(row.outputTokens)}</td>
        <td class="number wide">${row.steps.toLocaleString('en')}</td><td class="number">${amountOf(row, currency)}</td>${isBySkill && html`<td class="budget-column"><${SkillBudget} of=${budgets.filter(({ skill }) => skill === row.name)} /></td>`}</tr>`,
      )}</tbody></table></div>
    <${AboutBudgets} of=${budgets} />`
}

/** `22 Nov to 29 Nov 2026, whole days (UTC)`, or `29 Nov 2026, 20:35 to 21:37 (UTC)`. */
function rangeIn(from, to) {
  const year = to.slice(0, 4)
  if (!from.includes('T'))
    return from === to
      ? `${dayIn(to)} ${year} (UTC)`
      : `${dayIn(from)} to ${dayIn(to)} ${year}, whole days (UTC)`
  const clock = (time) => time.slice(11, 16)
  const isOneDay = from.slice(0, 10) === to.slice(0, 10)
  return isOneDay
    ? `${dayIn(to)} ${year}, ${clock(from)} to ${clock(to)} (UTC)`
    : `${dayIn(from)} ${clock(from)} to ${dayIn(to)} ${year} ${clock(to)} (UTC)`
}

/** The basis for comparing rows: money if all have a price, else tokens. */
function measureOf(rows) {
  if (rows.every(({ money, unpriced }) => money !== undefined && !unpriced)) return ({ money }) => money
  return ({ inputTokens, outputTokens }) => inputTokens + outputTokens
}

function amountOf(row, currency) {
  if (row.money === undefined) return 'no price'
  return html`${money(row.money, currency)}${row.unpriced > 0 && html`<span class="dim" title="and tokens without a price"> + ?</span>`}`
}

/**
 * A row leads to its parts: a model to its skills, a skill to its senders, a sender to its days.
 */
function drill(by, name, query) {
  const next = { model: 'skill', skill: 'sender', sender: 'day' }[by]
  return next ? html`<a href=${link('cost', { ...query, by: next, [by]: name })}>${name}</a>` : name
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** The words for the steps of the bars, by their length (ms). */
const STEP_WORDS = { [5 * MINUTE]: 'in 5 minutes', [HOUR]: 'an hour' }

/** One bar per day, hour or 5 minutes, with its time and its amount. */
function Bars({ of: { rows: used, from, to, step }, currency }) {
  // Includes steps without usage, so that bars are in the right places.
  const steps = stepsBetween(from, to, step).map(
    (name) => used.find((row) => row.name === name) ?? { ...NOTHING, name },
  )
  const shareOf = measureOf(used)
  const most = Math.max(...used.map(shareOf), Number.MIN_VALUE)
  const isMoney = used.every(({ money, unpriced }) => money !== undefined && !unpriced)
  const amount = (value) => (isMoney ? money(value, currency) : `${tokens(value)} tokens`)
  const isFew = steps.length <= MAX_LABELS
  const height = (row) => ({
    height: `${shareOf(row) === 0 ? 0 : Math.max(2, (100 * shareOf(row)) / most)}%`,
  })
  return html`<figure class=${`bars ${isFew ? 'labelled' : ''}`}><figcaption>${isMoney ? 'Cost' : 'Tokens'} ${STEP_WORDS[step] ?? 'a day'} <span class="dim">highest ${amount(most)}</span></figcaption>
    <div aria-hidden="true">${steps.map((row) => html`<span key=${row.name} title=${`${titleOf(row.name)}: ${amount(shareOf(row))}`} style=${height(row)}></span>`)}</div>
    ${
      isFew
        ? html`<p class="dim bar-labels" aria-hidden="true">${steps.map((row) => html`<span key=${row.name}>${labelOf(row.name)}<br />${shareOf(row) === 0 ? '–' : amount(shareOf(row))}</span>`)}</p>`
        : html`<p class="dim"><span>${labelOf(steps[0].name)}</span><span>${labelOf(steps.at(-1).name)}</span></p>`
    }</figure>`
}

function titleOf(name) {
  return name.includes('T') ? `${dayIn(name)} ${name.slice(11, 16)} UTC` : name
}

function labelOf(name) {
  return name.includes('T') ? name.slice(11, 16) : dayIn(name)
}

/** With more days, not every bar has room for a label. */
const MAX_LABELS = 8

function dayIn(name) {
  return new Date(name).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
}

const NOTHING = { inputTokens: 0, outputTokens: 0, steps: 0, money: 0 }

/** How much of its budgets a skill has used. */
function SkillBudget({ of }) {
  return of.map(
    (each) => html`<span key=${each.limit} class="skill-budget"><${BudgetInShort} of=${each} /></span>`,
  )
}

const TOP_SENDERS = 3

/** The senders who have used the largest share of their budgets, with what they have left. */
function TopBudgetUsers({ of = [], query }) {
  return (
    of.length > 0 &&
    html`<ul class="plain fullest">${of.slice(0, TOP_SENDERS).map((each) => html`<li key=${`${each.sender} ${each.limit}`}>${drill('sender', each.sender, query)} <span class="skill-budget"><${BudgetLeft} of=${each} /></span></li>`)}</ul>`
  )
}

/** The usage of each budget, who is waiting, and who uses most. */
function Budgets({ of: budgets, senders, currency, query }) {
  const top = senders.slice(0, TOP_SENDERS)
  return html`<ul class="budgets" aria-label="Budgets">${budgets.map((each, index) =>
    each.budget === 'sender'
      ? html`<li key=${index} class="card"><p><b>Budget of each sender</b> ${each.limit}</p>
          ${each.over.length === 0 ? html`<p class="dim">Nobody has used it up.${each.fullest && ' Who has used most:'}</p>` : html`<ul class="plain">${each.over.map(({ sender, until }) => html`<li key=${sender}>${sender} <span class="dim">waits until ${dateTime(until)}</span></li>`)}${each.more && html`<li class="dim">and others</li>`}</ul>`}<${TopBudgetUsers} of=${each.fullest} query=${query} /></li>`
      : html`<li key=${index} class="card"><${Budget} of=${each} name=${each.budget === 'skill' ? html`Budget of <a href=${link(['skills', each.skill])}>${each.skill}</a>` : 'Budget of all'} /></li>`,
  )}
    ${top.length > 0 && html`<li class="card"><p><b>Top senders</b></p><ul class="plain">${top.map((row) => html`<li key=${row.name}>${drill('sender', row.name, query)} <span class="dim">${amountOf(row, currency)}</span></li>`)}</ul></li>`}</ul>`
}

/** Below the figures, which people come for. */
function AboutBudgets({ of: budgets }) {
  return html`<div class="after">${budgets.length === 0 ? html`<p class="hint">No budget is set.</p>` : html`<${WhenUsedUp} />`}
    <${HowToSet} example="budget: { sender: 200k tokens/1d, total: 20 EUR/30d, skill: { helper: 5 EUR/7d } }" /></div>`
}
