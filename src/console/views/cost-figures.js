import { changeText } from '../../lib/cost-change.ts'
import { Figure } from '../lib/figure.js'
import { html } from '../lib/html.js'
import { tokens } from '../lib/money.js'
import { amountOf, rangeIn } from './cost-words.js'

/** The totals, and the change of the cost from the time before. */
export function CostFigures({ of: { to, total, compared, currency } }) {
  return html`<div class="figures-row">
      <${Figure} name="Cost" value=${amountOf(total, currency)} note=${compared && html`<${Change} of=${compared} isWhole=${to.includes('T') || to === compared.to} currency=${currency} />`} />
      <${Figure} name="Tokens in" value=${tokens(total.inputTokens)} />
      <${Figure} name="Tokens out" value=${tokens(total.outputTokens)} />
      <${Figure} name="Steps" value=${total.steps.toLocaleString('en')} note="requests to models" />
    </div>`
}

/**
 * Short times are compared up to now. Days are compared without today, which is not over: `isWhole` is
 * false, and the compared amount is shown, as it is not that of the figure.
 */
function Change({ of: { from, to, total, before }, isWhole, currency }) {
  const earlier = rangeIn(before.from, before.to)
  if (before.total.steps === 0) return `nothing was used in ${earlier}`
  const title = `${rangeIn(from, to)}: ${plain(total, currency)}. ${earlier}: ${plain(before.total, currency)}.`
  return html`<span title=${title}><b class="change">${changeText(total, before.total)}</b> in ${rangeIn(from, to)}${!isWhole && html` (${amountOf(total, currency)})`}, compared with ${earlier} (${amountOf(before.total, currency)})</span>`
}

function plain({ money, inputTokens, outputTokens }, currency = '') {
  return money === undefined ? `${tokens(inputTokens + outputTokens)} tokens` : `${money} ${currency}`
}
