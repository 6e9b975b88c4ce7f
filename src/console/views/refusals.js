import { useState } from 'preact/hooks'
import { withSecond } from '../../lib/second-secret.ts'
import { invoke } from '../lib/api.js'
import { FilterBox } from '../lib/filter-box.js'
import { html } from '../lib/html.js'
import { clock, now } from '../lib/live.js'
import { percent } from '../lib/money.js'
import {
  Age,
  Badge,
  Copy,
  CopyLink,
  dateTime,
  Moment,
  span,
  useLoaded,
  useOnce,
  Wait,
  Words,
} from '../lib/parts.js'
import { link, replace, route } from '../lib/router.js'
import { NO_GATEWAY, withoutCommands } from '../lib/troubles.js'
import { placeInFile } from './configuration-place.js'
import { stateOf } from './gateway-state.js'

/**
 * Refusals by gateway and reason, with the likely cause; then the newest ones, one by one. They are
 * loaded again when `at` changes.
 */
export function Refusals({ gateway, at }) {
  const refused = now.value?.rates?.refused ?? 0
  const loaded = useLoaded(
    (signal) => invoke('refused', gateway ? { gateway } : {}, signal),
    [gateway, refused, at, statesOf(now.value)],
  )
  const { value } = loaded
  const filter = filterIn(route.value.query)
  const set = (change) => replace(route.value.path, { ...route.value.query, ...change })
  if (!value) return html`<${Wait} of=${loaded} what="the refusals" />`
  if (value.refusals.length === 0 && !loaded.error)
    return html`<p class="dim">None since this daemon started.</p>`
  const { refusals, groups } = matching(value, filter)
  const isFiltered = Object.values(filter).some(Boolean)
  const runs = runsOf(refusals, groups)
  const isOpen = isFiltered || groups.length === 0 || (gateway !== undefined && runs.length <= OPEN_UP_TO)
  return html`<${Wait} of=${loaded} what="the refusals" />
    ${value.refusals.length > OPEN_UP_TO && html`<search class="filter"><${RefusalSearch} of=${value} isOne=${gateway !== undefined} filter=${filter} set=${set} /><${CopyLink} /></search>`}
    ${isFiltered && refusals.length === 0 && html`<p class="dim">None of the kept refusals matches.</p>`}
    <ul class="refusal-groups">${groups.map((group) => html`<li key=${`${group.gateway} ${group.reason}`} class="card"><${RefusalGroup} of=${group} isOne=${gateway !== undefined} refusals=${refusals} /></li>`)}</ul>
    <details open=${isOpen}><summary>Each refusal, newest first<${Limit} refusals=${refusals} runs=${runs} isOne=${gateway !== undefined} /></summary>
    <ul class="refusals">${runs.slice(0, MAX_ROWS).map((run, index) => html`<li key=${`${run[0].at} ${index}`}><${Refusal} run=${run} /></li>`)}</ul></details>`
}

/** The configuration and the states of all gateways, which the text below them must not contradict. */
function statesOf({ configuration, gateways = [] } = {}) {
  return `${configuration?.at} ${gateways.map(stateOf).join(' ')}`
}

/** The filter of refusals in an address, which may have other parameters. */
function filterIn(query) {
  const { gateway, reason, from, text } = query
  return Object.fromEntries(Object.entries({ gateway, reason, from, text }).filter(([, value]) => value))
}

/** Searches by gateway, reason and sender; those of the shown refusals are suggested. */
function RefusalSearch({ of: { refusals }, isOne, filter, set }) {
  const distinct = (name) => () => [...new Set(refusals.map((one) => one[name]).filter(Boolean))]
  const gateway = { key: 'gateway', name: 'gateway', about: 'its gateway', values: distinct('gateway') }
  const fields = [
    ...(isOne ? [] : [gateway]),
    { key: 'reason', name: 'reason', about: 'why it was refused', values: distinct('reason') },
    { key: 'from', name: 'from', about: 'a part of the address of the sender', values: distinct('from') },
  ]
  return html`<${FilterBox} query=${filter} set=${set} fields=${fields} rest="text" words=${WORDS} label="Search the refusals" placeholder="Search: words, reason:, from: …" />`
}

const WORDS = [['"order 4711"', 'in the explanation or in what was sent']]

/** The refusals that match a filter, and their groups. */
function matching({ refusals, groups }, { gateway, reason, from, text }) {
  const isIn = (wanted, value = '') =>
    wanted === undefined || String(value).toLowerCase().includes(wanted.toLowerCase())
  const isSame = (wanted, value) => wanted === undefined || wanted === value
  const ofKind = (one) => isSame(gateway, one.gateway) && isSame(reason, one.reason)
  const found = refusals.filter(
    (one) => ofKind(one) && isIn(from, one.from) && (isIn(text, one.why) || isIn(text, one.body)),
  )
  const isLeft = (group) =>
    (!from && !text) || found.some((one) => one.gateway === group.gateway && one.reason === group.reason)
  return { refusals: found, groups: groups.filter((group) => ofKind(group) && isLeft(group)) }
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** Number of refusals that the daemon keeps per gateway. */
const MAX_STORED = 50
/** Maximum number of rows. */
const MAX_ROWS = 50
/** Up to this many refusals are open from the start and need no search. */
const OPEN_UP_TO = 3

/** Why some refusals are not listed. */
function Limit({ refusals, runs, isOne }) {
  const text = () => {
    if (runs.length > MAX_ROWS) return `the newest ${MAX_ROWS} rows are shown`
    const ofGateways = [...Map.groupBy(refusals, ({ gateway }) => gateway).values()]
    if (ofGateways.every(({ length }) => length < MAX_STORED)) return undefined
    return `the newest ${MAX_STORED}${isOne ? '' : ' of each gateway'} are kept`
  }
  const limit = text()
  return limit && html` <span class="dim">(${limit})</span>`
}

/** Consecutive refusals of an episode, grouped while they differ only in their time and in what was sent. */
function runsOf(refusals, groups) {
  const runs = []
  const isCurrent = ({ at, gateway, reason }) =>
    groups.some((group) => group.gateway === gateway && group.reason === reason && at >= group.since)
  for (const one of refusals) {
    const last = runs.at(-1)
    const isAlike = ['gateway', 'reason', 'from', 'why'].every((name) => last?.[0][name] === one[name])
    if (last && isAlike && isCurrent(last[0]) === isCurrent(one)) last.push(one)
    else runs.push([one])
  }
  return runs
}

/** Refusals of one reason: count in the last hour and since they began, share and likely cause. */
function RefusalGroup({ of: group, isOne, refusals }) {
  const { gateway, reason, count: many, total, likely, todo, cause, earlier } = group
  // Here lists of { name, count }; in a single refusal, `from` and `why` are texts.
  const { from: senders, why: explanations } = group
  const hasGateway = gateway !== NO_GATEWAY
  const canTry = refusals.some((one) => one.id && one.gateway === gateway && one.reason === reason)
  return html`<p class="group-head"><b class="many">${(hasGateway ? Math.max(many, total.refused) : many).toLocaleString('en')}</b> ${isOne || !hasGateway ? html`<code>${reason}</code>` : html`<a href=${link(['gateways', gateway])}>${gateway}</a> <code>${reason}</code>`} <span class="dim">refused ${periodOf(group)}</span></p>
    <p>${explanations[0]?.name}</p>
    <p><b>${likely}</b> <${Words} text=${withoutCommands(todo)} /></p>
    <p class="dim">${hasGateway && html`<${Accepted} of=${group} />`} From ${senders
      .slice(0, 5)
      .map(
        ({ name, count, total: ofName }) => `${name} (${(hasGateway ? ofName : count).toLocaleString('en')})`,
      )
      .join(', ')}${senders.length > 5 ? ` and ${senders.length - 5} more` : ''}.</p>
    ${earlier.map((before) => html`<p key=${before.since} class="dim">Before that: <${Earlier} of=${before} /></p>`)}
    ${canTry && html`<${TrySecret} gateway=${gateway} isChanged=${cause === 'failed-change'} />`}`
}

/** An episode of refusals that is over. */
function Earlier({ of: { since, last, refused, acceptedAfter } }) {
  return html`${refused.toLocaleString('en')} refused from ${dateTime(since)} to ${dateTime(last)} (lasted ${span(last - since)}), then ${acceptedAfter.toLocaleString('en')} accepted.`
}

/** When deliveries were refused. If that is over: for how long. */
function periodOf({ gateway, count: many, total, since, last, share, endedAt }) {
  if (endedAt !== undefined)
    return html`from ${dateTime(since)} to ${dateTime(endedAt)} (lasted ${span(endedAt - since)})${gateway !== NO_GATEWAY && many < total.refused && `, ${many.toLocaleString('en')} of them in the last hour`}`
  const hasGateway = gateway !== NO_GATEWAY
  const begin = html`since ${dateTime(since)} (for <${Age} at=${since} />), `
  const end = html`last <${Age} at=${last} /> ago`
  // The share is of the time since they began: earlier in this hour, others may have been accepted.
  if (clock.value - since <= HOUR)
    return html`${begin}${hasGateway && `${percent(share)} of the deliveries since then, `}${end}`
  return html`${begin}${hasGateway && many < total.refused && `${many.toLocaleString('en')} of them `}in the last hour${hasGateway ? ` (${percent(share)} of the deliveries)` : ''}, ${end}`
}

/** The accepted deliveries since the last refusal. */
function Accepted({ of: { acceptedAfter, cause, endedAt, lastGoodAt, changedBefore } }) {
  const isFailed = cause === 'failed-change' && changedBefore !== undefined
  if (lastGoodAt === undefined) return 'It has accepted none since this daemon started.'
  const isOver = endedAt !== undefined && cause !== 'changed'
  const since = isOver && html`${acceptedAfter.toLocaleString('en')} accepted since. `
  const change = isFailed && html`Changed <${Age} at=${changedBefore.at} /> ago. `
  return html`${change}${since}Last good delivery <${Age} at=${lastGoodAt} /> ago.`
}

/** Refusals that differ only in their time and body: the newest one, and on request each of them. */
function Refusal({ run }) {
  const [{ at, gateway, reason, from, why }] = run
  const sent = sentOf(run[0])
  const many = run.length
  const since = run.at(-1).at
  return html`<p><${Age} at=${at} />${at - since > MINUTE && html` to <${Age} at=${since} />`} ago${many > 1 && html` <b>${many.toLocaleString('en')} ×</b>`} <b>${gateway}</b> <code>${reason}</code> ${from && html`<span class="dim">from ${from}</span>`}</p>
    ${why && html`<p>${why}</p>`}
    ${sent && html`<details><summary>What was sent${many > 1 && ' last'}</summary><pre tabindex="0" aria-label="What was sent">${sent}</pre></details>`}
    ${many > 1 && html`<details><summary>Each of the ${many.toLocaleString('en')}</summary><ol>${run.map((one, index) => html`<li key=${`${one.at} ${index}`}><${Moment} at=${one.at} />${sentOf(one) && html`<pre tabindex="0" aria-label=${`What was sent, ${index + 1}`}>${sentOf(one)}</pre>`}</li>`)}</ol></details>`}`
}

/** The headers and the start of the body of a refused delivery, as in HTTP. */
function sentOf({ headers = {}, body = '' }) {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return [lines.join('\n'), body].filter(Boolean).join('\n\n')
}

/**
 * Checks another secret on the newest refused delivery, and counts the kept deliveries that it
 * fits. The daemon gets the secret with the call and does not store it.
 */
function TrySecret({ gateway, isChanged }) {
  const [secret, setSecret] = useState('')
  const [verdict, setVerdict] = useState()
  const [isBusy, once] = useOnce()
  const id = `secret-${gateway}`
  const check = async () => {
    setVerdict(undefined)
    if (secret.trim() === '') return setVerdict({ error: { message: 'Type or paste the secret first.' } })
    const { goodAt } = now.value?.configuration ?? {}
    const shown = invoke('gateway-show', { gateway }).catch(() => ({}))
    await invoke('refused-try', { gateway, secret }).then(
      async (found) => setVerdict({ ...found, goodAt, secrets: (await shown).secrets }),
      (error) => setVerdict({ error }),
    )
  }
  return html`<form class="try-secret" autocomplete="off" noValidate onSubmit=${(event) => {
    event.preventDefault()
    once(check)
  }}>
    <label for=${id}>Try another secret on the refused deliveries</label>
    <div class="buttons"><input id=${id} type="password" autocomplete="new-password" spellcheck=${false} required value=${secret} onInput=${(event) => setSecret(event.target.value)} />
      <button changes aria-disabled=${isBusy}>Try</button></div>
    <p class="hint">It is checked in the memory of the daemon, and neither stored nor logged. Nothing is accepted.</p>
    <div role="status">${verdict && (isOld(verdict) ? html`<p>The configuration was read again since the secret was tried. Try it again.</p>` : html`<${Verdict} of=${verdict} gateway=${gateway} isChanged=${isChanged} />`)}</div>
  </form>`
}

/** Whether the configuration was read again since a secret was tried, so that its advice is old. */
function isOld({ error, goodAt }) {
  return error === undefined && goodAt !== now.value?.configuration?.goodAt
}

/** The settings with which deliveries are verified. */
const IN_VERIFY = /(^|\.)verify\./

/**
 * Where the secret of a gateway is, and the line that lists the new one beside the old ones, until
 * the sender has changed over. `isChanged`: nothing was accepted since the gateway was changed. If
 * it lists several secrets, the last one is then corrected.
 */
function SecretPlace({ gateway, secrets = [], isChanged }) {
  // A gateway may have others, such as the token of a challenge.
  const secret = secrets.find(({ setting }) => IN_VERIFY.test(setting))
  const { setting = 'verify.secret', file = 'routes.yaml', line, variables = [] } = secret ?? {}
  const [variable] = variables
  if (isChanged && variables.length > 1)
    return html`<p>Set <code>${variables.at(-1)}</code> in .env to it: nothing was accepted since it was changed. <code>${setting}</code> in <a href=${placeInFile({ file, line })}>${file}${line !== undefined && `, line ${line}`}</a> lists it already.</p>`
  const { added, line: several } = withSecond({ setting, variables })
  return html`<p>Let <code>${setting}</code> of ${gateway} in <a href=${placeInFile({ file, line })}>${file}${line !== undefined && `, line ${line}`}</a> list it beside the old one, and set <code>${added}</code> in .env. The sender then tries again.</p>
    <p class="new-line"><code>${several}</code> <${Copy} label="Copy the line" text=${several} /></p>
    ${variable !== undefined && html`<p class="dim">If the sender signs only with the new one, change <code>${variable}</code> instead.</p>`}`
}

function Verdict({ of, gateway, isChanged }) {
  const { error, ok, reason, at, fits, tried, isTrimmed, isInForce, secrets } = of
  if (error) return html`<p><${Badge} kind="bad">not tried<//> ${error.message}</p>`
  const all =
    tried === 1 ? 'the only refused delivery that is kept' : `all ${tried} refused deliveries that are kept`
  const share = `It fits ${fits === tried ? all : `${fits} of the ${tried} refused deliveries that are kept`}.`
  const blanks =
    isTrimmed &&
    html`<p>It has blanks around it, which were removed for this check. They must not be in .env.</p>`
  if (!ok)
    return html`<p><${Badge} kind="bad">it does not fit<//> ${reason}. ${share}${isInForce && ' It is in force already: the sender has another one.'}</p>${blanks}`
  const place = isInForce
    ? html`<p>It is in force already. Let the sender repeat the refused deliveries.</p>`
    : html`<${SecretPlace} gateway=${gateway} secrets=${secrets} isChanged=${isChanged} />`
  return html`<p><${Badge} kind="good">it fits<//> the delivery of <${Age} at=${at} /> ago. ${share}</p>${blanks}${place}`
}
