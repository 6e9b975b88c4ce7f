import { useState } from 'preact/hooks'
import { withoutZeros } from '../lib/chart.js'
import { stepsBetween } from '../lib/days.js'
import { html } from '../lib/html.js'
import { money, tokens } from '../lib/money.js'
import { dayIn, measureOf } from './cost-words.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** The words for the steps of the bars, by their length (ms). */
const STEP_WORDS = { [5 * MINUTE]: 'in 5 minutes', [HOUR]: 'an hour' }
/** Maximum number of labels below the bars. */
const MAX_LABELS = 7
const NOTHING = { parts: [] }

/**
 * One bar per day, hour or 5 minutes, split into parts. The legend has the amounts of the bar under
 * the pointer, or else of all. The same is in a table for the keyboard and screen readers.
 */
export function CostChart({ of: { rows, from, to, step, split, currency, total }, children }) {
  const [chosen, choose] = useState()
  const measure = measureOf(rows)
  const isMoney = rows.every(({ money, unpriced }) => money !== undefined && !unpriced)
  const amount = (value) => (isMoney ? money(value, currency) : `${tokens(value)} tokens`)
  // Includes steps without usage, so that bars are in the right places.
  const known = new Map(rows.map((row) => [row.name, row]))
  const steps = stepsBetween(from, to, step).map((name) => {
    const parts = (known.get(name) ?? NOTHING).parts
    return { name, parts: new Map(parts.map((part) => [part.name, measure(part)])) }
  })
  const sumOf = (some) => some.reduce((sum, value) => sum + value, 0)
  const totalOf = ({ parts }) => sumOf([...parts.values()])
  const top = topOf(Math.max(0, ...steps.map(totalOf)))
  const shown = steps.find(({ name }) => name === chosen)
  const partOf = (name) =>
    shown ? (shown.parts.get(name) ?? 0) : sumOf(steps.map(({ parts }) => parts.get(name) ?? 0))
  return html`<figure class="cost-chart"><figcaption class="bar"><span>${isMoney ? 'Cost' : 'Tokens'} ${STEP_WORDS[step] ?? 'a day'} by ${split.by}</span>${children}</figcaption>
    <p class="legend" aria-hidden="true"><span><b>${shown ? titleOf(shown.name, step) : 'in all'}</b> <span class="value">${amount(shown ? totalOf(shown) : measure(total))}</span></span>${split.names.map((name, at) => html`<span key=${name}><i class=${`part part-${at}`}></i>${name} <span class="value">${partOf(name) === 0 ? '–' : amount(partOf(name))}</span></span>`)}</p>
    <div class="plot" aria-hidden="true" onPointerLeave=${() => choose(undefined)}>
      <div class="y-axis dim"><span>${withoutZeros(amount(top))}</span><span>${withoutZeros(amount(top / 2))}</span><span>0</span></div>
      <div class="slots">${steps.map(
        (each) =>
          html`<div key=${each.name} class=${`slot ${each.name === chosen ? 'chosen' : ''}`} title=${wordsOf(each, totalOf(each), split.names, amount, step)} onPointerEnter=${() => choose(each.name)} onClick=${() => choose(each.name)}>${split.names
            .map((name, at) => {
              const value = each.parts.get(name)
              return (
                value > 0 &&
                html`<span key=${name} class=${`part-${at}`} style=${{ height: `${(100 * value) / top}%` }}></span>`
              )
            })
            .toReversed()}</div>`,
      )}</div>
      <div class="x-axis dim">${steps.map((each, at) => html`<span key=${each.name}>${isLabelled(at, steps.length) && labelOf(each.name)}</span>`)}</div>
    </div>
    <details><summary>The bars as a table</summary><${Numbers} of=${steps} names=${split.names} amount=${amount} totalOf=${totalOf} step=${step} /></details></figure>`
}

/** All steps with usage, newest first. */
function Numbers({ of: steps, names, amount, totalOf, step }) {
  const used = steps.filter(({ parts }) => parts.size > 0).toReversed()
  const rest = steps.length - used.length
  return html`<div class="scrolls" tabindex="0" role="region" aria-label="The bars as a table"><table class="cost">
    <thead><tr><th scope="col">${step < 24 * HOUR ? 'time (UTC)' : 'day (UTC)'}</th>${names.map((name) => html`<th key=${name} scope="col" class="number">${name}</th>`)}<th scope="col" class="number">in all</th></tr></thead>
    <tbody>${used.map((each) => html`<tr key=${each.name}><th scope="row">${titleOf(each.name, step)}</th>${names.map((name) => html`<td key=${name} class="number">${each.parts.has(name) ? amount(each.parts.get(name)) : '–'}</td>`)}<td class="number">${amount(totalOf(each))}</td></tr>`)}</tbody></table>
    ${rest > 0 && html`<p class="dim">${rest.toLocaleString('en')} without usage are left out.</p>`}</div>`
}

function wordsOf({ name, parts }, total, names, amount, step) {
  const lines = names.flatMap((part) => (parts.has(part) ? [`${part}: ${amount(parts.get(part))}`] : []))
  return [`${titleOf(name, step)}: ${amount(total)}`, ...lines].join('\n')
}

/** The upper end of the axis: the next number with one or two digits before its zeros. */
function topOf(highest) {
  if (highest === 0) return 1
  const power = 10 ** Math.floor(Math.log10(highest))
  const factor = [1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10].find((each) => each * power >= highest * 0.999_999) ?? 10
  return factor * power
}

/** The last bar has a label, and every n-th before it. */
function isLabelled(at, length) {
  return (length - 1 - at) % Math.ceil(length / MAX_LABELS) === 0
}

/** `28 Nov 09:05 to 09:10 UTC`, or `28 Nov`. */
function titleOf(name, step) {
  if (!name.includes('T')) return dayIn(name)
  const end = new Date(Date.parse(name) + step).toISOString()
  return `${dayIn(name)} ${name.slice(11, 16)} to ${end.slice(11, 16)} UTC`
}

function labelOf(name) {
  return name.includes('T') ? name.slice(11, 16) : dayIn(name)
}
