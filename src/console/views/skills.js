import { useEffect, useState } from 'preact/hooks'
import { call, invoke } from '../lib/api.js'
import { useFirstRow } from '../lib/first-row.js'
import { html } from '../lib/html.js'
import { now } from '../lib/live.js'
import { money, percent } from '../lib/money.js'
import { Age, Badge, CopyLink, Empty, tookAbout, useLoaded, Wait } from '../lib/parts.js'
import { Pause, untilOf, usePause } from '../lib/pause.js'
import { Waiting } from '../lib/pauses.js'
import { RANGES, Range } from '../lib/range.js'
import { link, replace } from '../lib/router.js'
import { SearchField } from '../lib/search-field.js'
import { count } from '../lib/troubles.js'
import { UsedUpState } from '../lib/used-up.js'
import { useWaitingRequests } from '../lib/waiting-requests.js'
import { Skill } from './skill.js'
import { SkillRun } from './skill-run.js'
import { retriedMessages } from './skill-runs.js'

/** Polling interval (ms) of the numbers. */
const POLL_INTERVAL = 10_000

/** All skills with their numbers, a short list beside one of them, or one run. */
export function SkillsPage({ path: [name, run], query }) {
  return run === undefined
    ? html`<${AllSkills} name=${name} query=${query} />`
    : html`<${SkillRun} key=${run} name=${name} at=${run} />`
}

function AllSkills({ name, query }) {
  const { since = '', until = '' } = query
  const range = { ...(since && { since }), ...(until && { until }) }
  const set = (change) => replace(name ? ['skills', name] : 'skills', { ...query, ...change })
  const loaded = useLoaded((signal) => call('GET', '/v1/skills', undefined, signal), [])
  const runs = useLoaded(
    async (signal) => {
      const [usage, { currency }, routes] = await Promise.all([
        invoke('skill-usage', range, signal),
        // Only for the currency: each skill's cost is part of its usage.
        invoke('cost', { by: 'skill', since: '1d' }, signal),
        invoke('route-list', {}, signal),
      ])
      return { usage, currency, routes: routes.filter(({ target }) => target === 'skill') }
    },
    [since, until],
  )
  const [wanted, setWanted] = useState('')
  useEffect(() => {
    const timer = setInterval(() => document.hidden || runs.reload(), POLL_INTERVAL)
    return () => clearInterval(timer)
  }, [since, until])
  const skills = loaded.value && [...loaded.value, ...brokenAmong(loaded.value)]
  const { own, words, builtIn } = sorted(skills ?? [], runs.value?.usage ?? [], wanted)
  const found = own.length + words.length + builtIn.length
  const { box, toRows } = useFirstRow(found > 0)
  const List = name ? Names : SkillTable
  const requests = useWaitingRequests()
  const others = { current: name, range, requests, isOpen: wanted !== '' }
  return html`<section class=${`page skills ${name ? 'has-one' : 'is-table'}`} aria-labelledby="title">
    <div ref=${box} class="skill-list">
      <header class="bar">${name ? html`<h2 class="titled">Skills</h2>` : html`<h1 id="title">Skills</h1>`}
        <${SearchField} label="Search skills" placeholder="Search  /" value=${wanted} set=${setWanted} toRows=${toRows} />
        <div class="filter"><${Range} query=${query} set=${set} ranges=${RANGES} normal="7d" /><${CopyLink} /></div></header>
      <${Wait} of=${loaded} what="the skills" />
      ${loaded.value && runs.error && html`<${Wait} of=${runs} what="how often they ran" />`}
      ${own.length > 0 && html`<${List} of=${own} current=${name} range=${range} currency=${runs.value?.currency} routes=${runs.value?.routes} requests=${requests} query=${query} set=${set} />`}
      ${loaded.value && own.length === 0 && wanted === '' && html`<${Empty} title="There is no skill of yours yet.">Make one: <code>npx trivium skill new NAME</code><//>`}
      ${loaded.value && found === 0 && wanted !== '' && html`<${Empty} title="No skill matches." />`}
      <${Others} title="Words of the assistant" of=${words} ...${others} />
      <${Others} title="Built in" of=${builtIn} ...${others} />
    </div>
    ${name && html`<${Skill} key=${name} name=${name} range=${range} query=${query} set=${set} />`}
  </section>`
}

/** Skills that could never be loaded, by the troubles: they are in no list. */
function brokenAmong(skills) {
  return (now.value?.troubles ?? [])
    .filter(({ code, where }) => code === 'skill-broken' && !skills.some(({ name }) => name === where.skill))
    .map(({ where, text }) => ({ name: where.skill, description: text, kind: 'code' }))
}

/**
 * `own`: skills of the project, and shipped ones that ran, most used first. Shipped words and
 * built-in skills stay in `words` and `builtIn` even if they ran; `builtIn` also has the other
 * shipped skills.
 */
function sorted(skills, usage, wanted) {
  const asked = wanted.toLowerCase().split(/\s+/).filter(Boolean)
  const fits = ({ name, description }) =>
    asked.every((word) => `${name} ${description}`.toLowerCase().includes(word))
  const all = skills
    .filter(fits)
    .map((skill) => ({ ...skill, usage: usage.find(({ name }) => name === skill.name) }))
    .toSorted((a, b) => (b.usage?.runs ?? 0) - (a.usage?.runs ?? 0))
  const isWord = ({ kind, shipped }) => shipped && kind === 'prefix'
  const isUsed = ({ kind, usage }) => kind !== 'prefix' && kind !== 'built-in' && usage !== undefined
  const isOwn = (skill) => !skill.shipped || isUsed(skill)
  return {
    own: all.filter(isOwn),
    words: all.filter((skill) => !isOwn(skill) && isWord(skill)),
    builtIn: all.filter((skill) => !isOwn(skill) && !isWord(skill)),
  }
}

/** A closed group of skills; open while one of them is shown or found. */
function Others({ title, of, current, range, requests, isOpen }) {
  if (of.length === 0) return null
  const runs = of.reduce((sum, { usage }) => sum + (usage?.runs ?? 0), 0)
  const isIn = of.some(({ name }) => name === current)
  return html`<details class="other-skills" open=${isOpen || isIn}><summary>${title} <span class="dim">${of.length}${runs > 0 ? `, ${count(runs, 'run')}` : ''}</span></summary>
    <${Names} of=${of} current=${current} range=${range} requests=${requests} /></details>`
}

function Names({ of, current, range, requests }) {
  return html`<ul>${of.map(
    ({
      name,
      description,
      usage,
    }) => html`<li key=${name}><a data-row href=${link(['skills', name], range)} aria-current=${name === current ? 'page' : undefined}>
      <b>${name}</b><${RunCounts} usage=${usage} /> <${State} name=${name} requests=${requests} /><span class="about">${description}</span></a></li>`,
  )}</ul>`
}

/** Runs and failures, beside the name. */
function RunCounts({ usage }) {
  if (!usage) return null
  const { runs, failed, failedMessages, running = 0 } = usage
  if (runs + running === 0) return null
  const messages = retriedMessages(failedMessages, failed)
  return html` <span class="dim doing">${count(runs, 'run')}</span>${running > 0 && html` <span class="doing">${running.toLocaleString('en')} running</span>`}${failed > 0 && html` <span class="doing error">${failed.toLocaleString('en')} failed${messages && ` (${messages})`}</span>`}`
}

/** `of`: what a column is sorted by, highest first. */
const COLUMNS = [
  { key: 'name', title: 'skill' },
  { key: 'last', title: 'last run', of: (usage) => usage.runningSince ?? usage.lastAt },
  { key: 'runs', title: 'runs', isNumber: true, of: (usage) => usage.runs },
  { key: 'failed', title: 'failed', isNumber: true, of: (usage) => usage.errorRate },
  { key: 'p50', title: 'p50', isNumber: true, of: (usage) => usage.p50 },
  { key: 'p95', title: 'p95', isNumber: true, of: (usage) => usage.p95 },
  { key: 'cost', title: 'cost', isNumber: true, of: (usage) => usage.money },
  { key: 'by', title: 'called by' },
  { key: 'pause', title: html`<span class="unseen">Pause</span>` },
]

function SkillTable({ of, range, currency, routes, requests, query, set }) {
  const { sort = 'runs' } = query
  const column = COLUMNS.find(({ key }) => key === sort)
  const rows =
    sort === 'name'
      ? of.toSorted((a, b) => a.name.localeCompare(b.name))
      : of.toSorted((a, b) => measureIn(b, column) - measureIn(a, column))
  return html`<div class="scrolls" tabindex="0" role="region" aria-label="Your skills"><table class="skill-table">
    <thead><tr>${COLUMNS.map(
      ({
        key,
        title,
        isNumber,
        of: value,
      }) => html`<th key=${key} scope="col" class=${isNumber ? 'number' : ''} aria-sort=${key === sort ? (key === 'name' ? 'ascending' : 'descending') : undefined}>
        ${value || key === 'name' ? html`<button type="button" class="sorts" onClick=${() => set({ sort: key === 'runs' ? '' : key })}>${title}${key === sort ? ' ↓' : ''}</button>` : title}</th>`,
    )}</tr></thead>
    <tbody>${rows.map((skill) => html`<${Row} key=${skill.name} skill=${skill} range=${range} currency=${currency} routes=${routes} requests=${requests} />`)}</tbody>
  </table></div>`
}

function measureIn({ usage }, column) {
  return (usage && column?.of?.(usage)) ?? -1
}

function Row({ skill: { name, description, kind, usage }, range, currency, routes = [], requests }) {
  const {
    runs = 0,
    failed = 0,
    failedMessages,
    errorRate,
    p50,
    p95,
    money: spent,
    callers = [],
    lastAt,
    lastCode,
    running,
    runningSince,
  } = usage ?? {}
  const [first, ...others] = callersOf(name, callers, routes)
  return html`<tr>
    <td class="skill-name"><a data-row href=${link(['skills', name], range)}>${name}</a> <${State} name=${name} requests=${requests} isLinked /><span class="about">${description}</span></td>
    <td class="last-run" data-label="last run">${running > 0 && html`<${Badge} kind="busy">${running > 1 ? `${running.toLocaleString('en')} running` : 'running'}<//> <${Age} at=${runningSince} /><br />`}${lastAt === undefined && running > 0 ? '' : lastAt === undefined ? html`<span class="dim">–</span>` : html`<${LastEnd} code=${lastCode} /> <${Age} at=${lastAt} />`}</td>
    <td class="number" data-label="runs">${runs.toLocaleString('en')}</td>
    <td class="number" data-label="failed">${failed > 0 ? html`<a class="error" href=${link(['skills', name], { ...range, outcome: 'failed' })}>${failed.toLocaleString('en')} <span class="share-of">(${percent(errorRate)})</span></a>${retriedMessages(failedMessages, failed) && html` <span class="of-messages dim">of ${retriedMessages(failedMessages, failed)}</span>`}` : runs > 0 ? '0' : ''}</td>
    <td class="number" data-label="p50">${tookAbout(p50, usage)}</td>
    <td class="number" data-label="p95">${tookAbout(p95, usage)}</td>
    <td class="number" data-label="cost">${spent === undefined ? '' : money(spent, currency)}</td>
    <td class="called-by">${first && html`${first.by}${others.length > 0 && html` <span class="dim" title=${others.map(({ by }) => by).join(', ')}>and ${others.length} more</span>`}`}</td>
    <td class="row-actions">${kind !== 'built-in' && html`<${Pause} kind="skill" of=${{ skill: name }} name=${name} isSmall />`}</td>
  </tr>`
}

/** How the last run ended. */
function LastEnd({ code }) {
  if (code === 'run_cancelled') return html`<${Badge}>cancelled<//>`
  return code ? html`<${Badge} kind="bad">failed<//>` : html`<${Badge} kind="good">done<//>`
}

/** The callers of a skill, most frequent first, then the routes that have not called it yet. */
function callersOf(name, callers, routes) {
  const own = routes.filter(({ to }) => to === name).map((route) => ({ by: `route ${route.name}` }))
  return [...callers, ...own.filter(({ by }) => !callers.some((each) => each.by === by))]
}

/** `5 messages, 1 run wait`, for the pause of a skill; nothing if it holds nothing. */
function HeldBySkill({ of: pause, isLinked }) {
  const { waiting, runs = 0 } = pause
  if (waiting + runs === 0) return null
  const verb = waiting + runs === 1 ? 'waits' : 'wait'
  const held = [waiting > 0 && count(waiting, 'message'), runs > 0 && count(runs, 'run')].filter(Boolean)
  return html` <span class="many">${isLinked ? html`<${Waiting} of=${pause} />` : held.join(', ')} ${verb}</span>`
}

/**
 * What keeps a skill from running: a fault, its pause, its used-up budget, and the requests for its runs or of its runs
 * that wait for an approval. `isLinked`: not within a link.
 */
function State({ name, requests, isLinked = false }) {
  const { pause } = usePause({ kind: 'skill', of: { skill: name }, name })
  const isBroken = (now.value?.troubles ?? []).some(
    ({ code, where }) => code === 'skill-broken' && where.skill === name,
  )
  const own = requests.of(name)
  const many = own + requests.by(name)
  const text = `${many.toLocaleString('en')} ${many === 1 ? 'waits' : 'wait'} for approval`
  const search = own === many ? { search: name } : {}
  return html`${isBroken && html`<${Badge} kind="bad">cannot be loaded<//>`}
    ${pause && html`<${Badge} kind="warn">paused${pause.until !== undefined && ` ${untilOf(pause)}`}<//>`}${pause && html`<${HeldBySkill} of=${pause} isLinked=${isLinked} />`}
    <${UsedUpState} skill=${name} of=${{ kind: 'skill', name }} isLinked=${isLinked} />
    ${many > 0 && html`<${Badge} kind="warn">${isLinked ? html`<a href=${link('approvals', search)}>${text}</a>` : text}<//>`}`
}
