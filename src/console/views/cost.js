import { useEffect } from 'preact/hooks'
import { costCsv } from '../../lib/cost-csv.ts'
import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { tokens } from '../lib/money.js'
import { Badge, CopyLink, Empty, useLoaded, Wait } from '../lib/parts.js'
import { RANGES, Range } from '../lib/range.js'
import { replace } from '../lib/router.js'
import { save } from '../lib/save-file.js'
import { AboutBudgets, Budgets } from './cost-budgets.js'
import { CostChart } from './cost-chart.js'
import { CostFigures } from './cost-figures.js'
import { CostTable } from './cost-table.js'

const BY = [
  ['skill', 'Skill'],
  ['model', 'Model'],
  ['sender', 'Sender'],
  ['gateway', 'Gateway'],
  ['day', 'Day'],
]
const SPANS = [
  ...RANGES.slice(0, -1),
  ['2d', 'last 2 days'],
  ...RANGES.slice(-1),
  ['30d', 'last 30 days'],
  ['90d', 'last 90 days'],
  ['365d', 'last year'],
]
/** Interval (ms) at which the cost up to now is read again. */
const POLL_INTERVAL = 30_000
const FILTERS = ['model', 'skill', 'sender', 'gateway']

/** Usage of models in tokens and money; rows lead to their details. */
export function CostPage({ query }) {
  const { by = 'skill', since = '7d', until = '' } = query
  const range = { since, ...(until && { until }) }
  const only = Object.fromEntries(FILTERS.flatMap((key) => (query[key] ? [[key, query[key]]] : [])))
  // The days are split by skill.
  const split = by === 'day' ? 'skill' : by
  const loaded = useLoaded(
    async (signal) => {
      const [shown, steps] = await Promise.all([
        invoke('cost', { by, ...range, ...only, compare: true }, signal),
        invoke('cost', { by: 'time', split, ...range, ...only }, signal),
      ])
      return { shown, steps }
    },
    [JSON.stringify(query)],
  )
  const { value, reload } = loaded
  useEffect(() => {
    if (until) return undefined
    const timer = setInterval(() => document.hidden || reload(), POLL_INTERVAL)
    return () => clearInterval(timer)
  }, [until])
  const set = (change) => replace('cost', { ...query, ...change })
  return html`<section class="page" aria-labelledby="title">
    <header class="bar"><h1 id="title">Cost</h1>
      <div class="filter">
        <div class="segments" role="group" aria-label="Add up by">${BY.map(([key, name]) => html`<button key=${key} type="button" aria-pressed=${by === key} onClick=${() => set({ by: key })}>${name}</button>`)}</div>
        <${Range} query=${query} set=${set} ranges=${spansWith(since)} normal="7d" />
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
    ${value && html`<${Shown} of=${value.shown} steps=${value.steps} query=${query} />`}
  </section>`
}

/** The offered spans, with that of an address, such as the window of a budget. */
function spansWith(since) {
  const isKnown = SPANS.some(([value]) => value === since)
  return isKnown || !/^\d+[smhd]$/.test(since) ? SPANS : [...SPANS, [since, `last ${since}`]]
}

function Shown({ of, steps, query }) {
  const { total, budgets, rows } = of
  if (rows.length === 0)
    return html`<${Budgets} of=${budgets} query=${query} /><${AboutBudgets} of=${budgets} isOpen /><${Empty} title="No model was used in this time.">Skills on a <code>model</code> show their tokens and cost here.<//>`
  return html`<${CostFigures} of=${of} />
    ${total.unpriced > 0 && html`<p class="note"><${Badge} kind="warn">no price<//> ${tokens(total.unpriced)} tokens are not in the cost: <code>prices</code> in routes.yaml has no price for their model.</p>`}
    <${Budgets} of=${budgets} query=${query} />
    <${CostChart} key=${`${query.by} ${query.since}`} of=${steps}><${Export} of=${steps} what="bars" /><//>
    <${CostTable} of=${of} query=${query}><${Export} of=${of} what="table" /><//>
    <${AboutBudgets} of=${budgets} />`
}

/** Saves what is shown as CSV. `what`: for the name of the file. */
function Export({ of, what }) {
  const saved = () => save(`cost-${what}-by-${of.by}-${of.to.slice(0, 10)}.csv`, costCsv(of), 'text/csv')
  return html`<button type="button" class="small" onClick=${saved} aria-label=${`Export the ${what} as CSV`}>CSV</button>`
}
