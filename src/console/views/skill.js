import { useEffect, useMemo, useState } from 'preact/hooks'
import { attemptLimits } from '../../lib/attempt-limits.ts'
import { metadataRows } from '../../lib/metadata-in-words.ts'
import { call, invoke, mayRun } from '../lib/api.js'
import { DecideHere } from '../lib/approval.js'
import { amountLeft, BudgetLine, HowToSet, untilText } from '../lib/budget.js'
import { patternInWords } from '../lib/cause.js'
import { clockOf } from '../lib/clock-of.js'
import { Figure } from '../lib/figure.js'
import { SchemaForm } from '../lib/form.js'
import { html } from '../lib/html.js'
import { changes } from '../lib/live.js'
import { money, percent, tokens } from '../lib/money.js'
import { Age, ask, Badge, Copy, Facts, Json, took, tookAbout, useLoaded, Wait } from '../lib/parts.js'
import { Pause, untilOf, usePause } from '../lib/pause.js'
import { PauseNote } from '../lib/pauses.js'
import { RANGES, Range } from '../lib/range.js'
import { RetriedMessages } from '../lib/retried-messages.js'
import { link } from '../lib/router.js'
import { runAverage } from '../lib/run-average.js'
import { runChart } from '../lib/run-bars.js'
import { errorsByField, fieldsOf } from '../lib/schema.js'
import { SkillPauseEffect } from '../lib/skill-use.js'
import { Back } from '../lib/trail.js'
import { count } from '../lib/troubles.js'
import { UsedUpNote } from '../lib/used-up.js'
import { ApprovalsOfSkill, RequestsForSkill } from './approval-waits.js'
import { SkillBars } from './skill-bars.js'
import { Caller, End, RunErrors, Running, Runs, retriedMessages, withoutTests } from './skill-runs.js'

/** One skill: its statistics, its last runs, and a form to run it. */
export function Skill({ name, range, query, set }) {
  const loaded = useLoaded(
    (signal) => call('GET', `/v1/skills/${encodeURIComponent(name)}`, undefined, signal),
    [name],
  )
  const { value: skill } = loaded
  const { pause } = usePause({ kind: 'skill', of: { skill: name }, name })
  return html`<div class="skill">
    <${Back} to="skills" />
    <${Wait} of=${loaded} what="the skill" />
    ${
      skill &&
      html`<header class="bar"><h1 id="title">${name} ${skill.metadata?.annotations?.destructiveHint && html`<${Badge} kind="warn">cannot be undone<//>`}${skill.metadata?.approval && html` <${Badge} kind="warn">needs approval<//>`}</h1>
        ${skill.kind !== 'built-in' && html`<div class="buttons"><${Pause} of=${{ skill: name }} kind="skill" name=${name} /></div>`}</header>
      ${skill.kind !== 'built-in' && html`<${PauseNote} of=${pause}><${SkillPauseEffect} name=${name} /><//><${UsedUpNote} skill=${name} of=${{ kind: 'skill', name }} />`}
      <p>${skill.description}</p>
      ${skill.kind !== 'built-in' && html`<${Facts} of=${runsWith(skill)} /><${Usage} name=${name} timeout=${skill.metadata?.timeout} range=${range} query=${query} set=${set} />`}
      <h2>Try it</h2>
      <${TryIt} skill=${skill} pause=${pause} />
      <details><summary>What it is</summary>
        <${Facts} of=${{ file: skill.path, layers: skill.layers?.map(layerName).join(' → ') }} />
        <${Json} value=${skill.args} label="Its JSON schema" />
      </details>`
    }
  </div>`
}

/** What it runs with: its kind, and its metadata as `skill show` has them. */
function runsWith({ kind, metadata = {} }) {
  const { approval: _, ...shown } = metadata
  return { kind, ...Object.fromEntries(metadataRows(shown)) }
}

function layerName(layer) {
  return typeof layer === 'string' ? layer : layer.name
}

/** Interval (ms) of polling a skill's runs. */
const POLL_INTERVAL = 5_000

/** `Last 7 days`, or `In the chosen time` for a range that the menu does not offer. */
function rangeTitle({ since = '7d', until }) {
  const known = until === undefined && RANGES.find(([value]) => value === since)
  if (known) return `${known[1][0].toUpperCase()}${known[1].slice(1)}`
  return 'In the chosen time'
}

/** The span that all numbers of the page count: whole 5 minutes, or whole days (UTC). */
function CountedSpan({ of: { from, to } }) {
  const isExact = from.includes('T')
  const [begin, end] = [from, to].map((name) => (isExact ? clockOf(Date.parse(name)) : name))
  return html`<span class="dim counted-span" title=${`All numbers count whole ${isExact ? '5 minutes' : 'days (UTC)'}`}>${begin === end ? begin : `${begin} to ${end}`}</span>`
}

/** Statistics of a skill: runs, errors, durations, cost, callers, and the last runs. */
function Usage({ name, timeout, range, query, set }) {
  const { outcome = '', error = '', by = '' } = query
  const [limit, setLimit] = useState(FEW_RUNS)
  const loaded = useLoaded(
    async (signal) => {
      const [usage, routes, { currency, budgets }] = await Promise.all([
        invoke(
          'skill-usage',
          { name, ...range, ...(outcome && { outcome }), ...(error && { error }), ...(by && { by }), limit },
          signal,
        ),
        invoke('route-list', {}, signal),
        invoke('cost', { skill: name, since: '1d' }, signal),
      ])
      return {
        usage,
        currency,
        // The total budget concerns it only if it has cost.
        budgets: budgets.filter(
          ({ budget, skill }) => skill === name || (budget === 'total' && usage.cost !== undefined),
        ),
        routes: routes.filter(({ target, to }) => target === 'skill' && to === name),
      }
    },
    [name, JSON.stringify(range), outcome, error, by, limit],
  )
  const { value, reload } = loaded
  const letters = useLettersOf(value?.routes ?? [])
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), POLL_INTERVAL)
    return () => clearInterval(timer)
  }, [name])
  if (!value) return html`<${Wait} of=${loaded} what="its runs" />`
  const { usage, currency, routes, budgets } = value
  const { runs, cost, callers, running = [], lastAt, lastCode } = usage
  const own = budgets.filter(({ skill }) => skill === name)
  const unused = routes.filter((route) => !callers.some(({ by }) => by === `route ${route.name}`))
  return html`<section aria-label="How it does">
    <${RequestsForSkill} name=${name} />
    <${ApprovalsOfSkill} routes=${routes} />
    <${RetriedMessages} routes=${routes} />
    ${running.length > 0 && html`<${Running} of=${running} reload=${reload} />`}
    <header class="bar"><h2>${rangeTitle(range)} <${CountedSpan} of=${usage} /></h2><div class="filter beside-no-list"><${Range} query=${query} set=${set} normal="7d" /></div></header>
    ${
      runs === 0
        ? html`<p class="dim">${running.length > 0 ? 'No run has ended in this time.' : 'It has not run in this time.'}${lastAt !== undefined && html` Its last run ended <${Age} at=${lastAt} /> ago: <${End} code=${lastCode} />`}</p>`
        : html`<${RunFigures} of=${usage} query=${query} currency=${currency} />`
    }
    ${own.length > 0 && html`<ul class="plain budget-lines" aria-label="Budgets">${own.map((each) => html`<li key=${each.limit}><${BudgetLine} of=${each} name="Budget of this skill" /></li>`)}</ul>`}
    ${own.length > 0 && html`<${HowToSet} example=${`budget: { skill: { ${name}: 5 EUR/7d } }`} />`}
    ${(cost || budgets.length > 0) && html`<p class="dim">${own.length === 0 && 'It has no budget of its own. '}<${SharedBudgets} of=${budgets.filter((each) => !own.includes(each))} /><a href=${link('cost')}>All budgets and costs</a></p>`}
    ${runs > 0 && html`<${SkillBars} of=${runChart(usage, range, Date.now())} />`}
    ${
      (callers.length > 0 || unused.length > 0) &&
      html`<h2>Who calls it</h2><ul class="plain">${callers.map(({ by, runs, failed: of = 0 }) => html`<li key=${by}><b><${Caller} by=${by} /></b> <span class="dim">${count(runs, 'run')}${of > 0 && html`, <a href=${link(['skills', name], { ...query, outcome: 'failed', error: undefined, by })}>${of.toLocaleString('en')} failed</a>`}</span><${LettersOf} by=${by} letters=${letters} /></li>`)}
      ${unused.map((route) => html`<li key=${route.name}><b><${Caller} by=${`route ${route.name}`} /></b> <span class="dim">${stateOf(route, running)}</span></li>`)}</ul><${Limits} of=${routes} timeout=${timeout} />`
    }
    ${(runs > 0 || usage.recent.length > 0) && html`<${Ended} usage=${usage} currency=${currency} letters=${letters} query=${query} set=${set} showMore=${() => setLimit(keptOf(query))} limit=${limit} />`}
  </section>`
}

/** The numbers of a skill's runs, and their cost. */
function RunFigures({ of: usage, query, currency }) {
  const {
    name,
    runs,
    failed,
    failedMessages,
    cancelled = 0,
    tests,
    errorRate,
    p50,
    p95,
    cost,
    runCost,
  } = usage
  return html`<div class="figures-row">
        <${Figure} name="Runs" value=${runs.toLocaleString('en')} note=${tests > 0 && `without ${count(tests, 'test')}`} />
        <${Figure} name="Failed" value=${failed === 0 ? '0' : html`<a href=${link(['skills', name], { ...query, outcome: 'failed', error: undefined, by: undefined })}>${failed.toLocaleString('en')} (${percent(errorRate)})</a>`} isBad=${failed > 0} note=${retriedMessages(failedMessages, failed) && `attempts at ${retriedMessages(failedMessages, failed)}`} />
        ${cancelled > 0 && html`<${Figure} name="Cancelled" value=${html`<a href=${link(['skills', name], { ...query, outcome: 'cancelled', error: undefined, by: undefined })}>${cancelled.toLocaleString('en')}</a>`} />`}
        <${Figure} name="p50 / p95" value=${`${tookAbout(p50, usage)} / ${tookAbout(p95, usage)}`} />
        ${cost && html`<${Figure} name=${`Cost, ${tokens(cost.inputTokens + cost.outputTokens)} tokens`} value=${cost.money === undefined ? 'no price' : money(cost.money, currency)} />`}
        ${runCost && html`<${Figure} name="Cost of a run" value=${runAverage(runCost, currency)} note=${runCost.runs < runs ? `average of the ${count(runCost.runs, 'run')} that used a model` : 'average'} />`}
      </div>`
}

/** How long each route lets an attempt run, and how many it makes. */
function Limits({ of: routes, timeout }) {
  return routes.map(
    (route) =>
      html`<p key=${route.name} class="dim">Attempts of route ${route.name}: ${attemptLimits(route, timeout)}</p>`,
  )
}

/** What is left of the budgets of all skills. */
function SharedBudgets({ of }) {
  return of.map(
    (each) =>
      html`<span key=${each.limit}>The budget of all skills, ${each.limit}, ${each.until === undefined ? html`has <b>${amountLeft(each)}</b> left` : html`is <b>used up</b>: runs go on at ${untilText(each)}`}. </span>`,
  )
}

/** Number of last runs that are shown at first. */
const FEW_RUNS = 30
/** Maximum numbers of runs that the daemon keeps one by one: of any outcome, and of unsuccessful ones. */
const MAX_RUNS = 100
const MAX_FAILURES = 200
const OUTCOMES = ['ok', 'failed', 'cancelled']
/** Schedules and messages have this word for a success, too. */
const WORDS = { ok: 'done' }

const isUnsuccessful = (outcome) => outcome === 'failed' || outcome === 'cancelled'
const keptOf = ({ outcome, error }) => (error || isUnsuccessful(outcome) ? MAX_FAILURES : MAX_RUNS)

/** The number of runs with an outcome, in total or of one caller, including runs no longer kept. */
function countedOf(usage, outcome, caller) {
  const { runs = 0, failed = 0 } = caller ? (usage.callers.find(({ by }) => by === caller) ?? {}) : usage
  // Cancelled runs are not counted per caller.
  const cancelled = caller ? undefined : (usage.cancelled ?? 0)
  return { ok: caller ? undefined : runs - failed - cancelled, failed, cancelled, '': runs }[outcome]
}

/** The errors of a skill, and its last runs with a filter by outcome. */
function Ended({ usage, currency, letters, query, set, limit, showMore }) {
  const { name, errors = [], recent, more } = usage
  const { outcome = '', error, by = '', at } = query
  const kept = keptOf(query)
  const hasMore = more && limit < kept
  const isCut = !error && !hasMore && recent.length > 0 && countedOf(usage, outcome, by) > recent.length
  useEffect(() => {
    if (outcome || error || by || at === 'runs') document.getElementById('last-runs')?.scrollIntoView()
  }, [outcome, error, by, at])
  const toRuns = (pattern) => [
    ['skills', name],
    { ...query, outcome: 'failed', error: pattern, by: undefined },
  ]
  const pick = html`<label class="pick"><span>Outcome</span>
    <select value=${outcome} onChange=${(event) => set({ outcome: event.target.value, error: undefined })}>
      <option value="">any</option>${OUTCOMES.map((each) => html`<option key=${each} value=${each}>${WORDS[each] ?? each}</option>`)}</select></label>`
  const chips = html`<p class="buttons">${by && html`<button type="button" onClick=${() => set({ by: undefined })} aria-label="Remove the filter by caller">called by ${by} ✕</button>`}${error && html`<button type="button" onClick=${() => set({ error: undefined })} aria-label="Remove the filter by error">error: ${patternInWords(error)} ✕</button>`}</p>`
  const rest = html`${recent.length === 0 && html`<p class="dim">${outcome === '' ? 'Only the sums of its runs are kept.' : `None of the kept runs is ${WORDS[outcome] ?? outcome}.`}</p>`}
    ${hasMore && html`<p><button type="button" onClick=${showMore}>Show up to ${kept}</button></p>`}
    ${isCut && html`<p class="dim">The newest ${kept} ${isUnsuccessful(outcome) ? 'failed and cancelled runs' : 'runs'} are kept.</p>`}`
  return html`${errors.length > 0 && html`<${RunErrors} of=${errors} usage=${usage} letters=${letters} toRuns=${toRuns} />`}
    <${Runs} of=${recent} skill=${name} currency=${currency} filter=${(error || by) && chips} more=${rest}>${pick}<//>`
}

/** How many dead letters a calling route has now, without tests; nothing without any. */
function LettersOf({ by, letters }) {
  const group = by.replace(/^route /, '')
  const many = letters
    .filter((each) => each.group === group)
    .reduce((sum, each) => sum + withoutTests(each), 0)
  return many > 0 && html` <a href=${link('dead-letters', { group })}>${count(many, 'dead letter')} now</a>`
}

/** The groups of dead letters of some routes, by error. */
function useLettersOf(routes) {
  const names = routes.map(({ name }) => name)
  const { value = [] } = useLoaded(
    async (signal) => {
      const found = names.map((group) => invoke('dead-letter-groups', { queue: 'dispatch', group }, signal))
      return (await Promise.all(found)).flat()
    },
    [names.join('\n'), changes.dead.value],
  )
  return value
}

/**
 * The state of a route that has no ended run of the skill in this time: `running`, `paused` or `no
 * run`.
 */
function stateOf({ name, paused }, running) {
  if (running.some(({ by }) => by === `route ${name}`)) return 'running'
  return paused ? 'paused' : 'no run'
}

/**
 * Runs the skill with the input. Asks for confirmation if the skill is destructive, needs approval,
 * or is paused.
 */
function TryIt({ skill: { name, args: schema, metadata, kind }, pause }) {
  const [ended, setEnded] = useState()
  const [isBusy, setBusy] = useState(false)
  const fields = useMemo(() => fieldsOf(schema) ?? [], [schema])
  const isGuarded = Boolean(metadata?.approval)
  const run = async (args) => {
    const isDestructive = metadata?.annotations?.destructiveHint === true
    const question = {
      title: isGuarded ? `Request approval to run ${name}?` : `Run ${name}?`,
      body: html`${pause && html`<p>It is paused ${untilOf(pause)}. The pause holds messages and schedules; this run does not wait for it.</p>`}<p>${effectOf({ isGuarded, isDestructive })}</p>${fields.length > 0 && html`<${Json} value=${args} label="Arguments" />`}`,
      action: isGuarded ? 'Request approval' : pause ? 'Run it all the same' : `Run ${name}`,
      danger: isDestructive || pause !== undefined,
    }
    if ((isGuarded || isDestructive || pause) && !(await ask(question))) return
    setBusy(true)
    const start = performance.now()
    const done = (what) => setEnded({ ...what, args, ms: performance.now() - start })
    await invoke(name, args).then(
      (result) => done({ result }),
      (error) => done({ error }),
    )
    setBusy(false)
  }
  const names = fields.map((field) => field.name)
  const errors = ended?.error?.code === 'skill_args_invalid' ? errorsByField(names, ended.error) : {}
  return html`<${SchemaForm} schema=${schema} run=${run} isBusy=${isBusy} errors=${errors} isForOperators=${!mayRun(name)}>${kind !== 'built-in' && !isGuarded && html`<span class="dim">Runs the skill for real: its effects happen.${pause && ' It is paused.'}</span>`}<//>
    <div class="came" aria-live="polite">
      ${isBusy && isGuarded && html`<p>Waiting for approval. <${DecideHere} isSelected=${(request) => request.skill === name && !request.message} /> <a href=${link('approvals')}>All approvals</a></p>`}
      ${ended?.error && html`<h2>It failed <span class="dim">after ${took(ended.ms)}</span></h2><div class="problem"><p>${ended.error.message} <code>${ended.error.code}</code></p></div>`}
      ${ended && !ended.error && html`<h2>Result <span class="dim">after ${took(ended.ms)}</span></h2><${Json} value=${ended.result ?? null} label="Result" />`}
      ${ended && html`<div class="buttons after"><${Copy} label="Copy as curl" text=${asCurl(name, ended.args)} />${!ended.error && html`<${Copy} label="Copy the result" text=${JSON.stringify(ended.result, null, 2)} />`}</div>`}
    </div>`
}

function effectOf({ isGuarded, isDestructive }) {
  if (isGuarded) return 'It waits under Approvals, and runs with these arguments once somebody approves it.'
  return `It runs immediately, with these arguments${isDestructive ? ', and cannot be undone' : ', for real: its effects happen'}.`
}

function asCurl(name, args) {
  const body = JSON.stringify(args).replaceAll("'", `'\\''`)
  return `curl ${location.origin}/v1/skills/${name} -H "authorization: Bearer $TRIVIUM_TOKEN" -H 'content-type: application/json' -d '${body}'`
}
