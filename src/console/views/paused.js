import { useRef, useState } from 'preact/hooks'
import { call, invoke } from '../lib/api.js'
import { authorOf } from '../lib/authors.js'
import { html } from '../lib/html.js'
import { clock, isNarrow, now } from '../lib/live.js'
import { openEnd } from '../lib/open-end.js'
import { Age, act, Badge, Empty, Moment, span, useLoaded, useOnce, Wait } from '../lib/parts.js'
import { ChangePause, pauseWith } from '../lib/pause.js'
import { HOLDS_MESSAGES, kindInWords } from '../lib/pause-form.js'
import { PauseChange, pausesOfDaemon, placeOfPause, Waiting } from '../lib/pauses.js'
import { heldMessages, Released } from '../lib/released.js'
import { asks, resumeWith } from '../lib/resume.js'
import { link } from '../lib/router.js'
import { effectOfSkillPause } from '../lib/skill-use.js'
import { EndedPauses } from './ended-pauses.js'

/** All pauses, and a form to add one. */
export function PausedPage() {
  const loaded = useLoaded(pausesWithEffects, [pausesOfDaemon()])
  const { value, reload } = loaded
  const { rows, end } = useRows(value)
  return html`<section class="page" aria-labelledby="title">
    <header class="bar"><h1 id="title">Paused</h1></header>
    <${Wait} of=${loaded} what="what is paused" />
    ${value && rows.length === 0 && html`<${Empty} title="Nothing is paused.">Messages of what is paused are accepted and wait.<//>`}
    ${
      rows.length > 0 &&
      html`<div class="scrolls" tabindex="0" role="region" aria-label="What is paused"><table class="group-table">
      <thead><tr><th scope="col">what</th><th scope="col">since</th><th scope="col">by</th><th scope="col">reason</th><th scope="col">until</th><th scope="col">waiting</th><th scope="col"><span class="unseen">actions</span></th></tr></thead>
      <tbody>${rows.map(({ pause, held, height }) => (held ? html`<${Resumed} key=${keyOf(pause)} pause=${pause} held=${held} height=${height} />` : html`<${Paused} key=${keyOf(pause)} pause=${pause} end=${end} done=${reload} />`))}</tbody></table></div>`
    }
    <h2>Pause something</h2>
    <${PauseForm} done=${reload} />
    <${EndedPauses} isShown=${({ since, ...pause }) => rows.some((row) => row.held && row.pause.since === since && keyOf(row.pause) === keyOf(pause))} />
  </section>`
}

/** The pauses; those of skills with what they hold. */
async function pausesWithEffects(signal) {
  const pauses = await invoke('pause-list', {}, signal)
  return Promise.all(
    pauses.map(async (pause) => {
      if (pause.kind !== 'skill') return pause
      return { ...pause, effect: await effectOfSkillPause(pause.name, signal).catch(() => undefined) }
    }),
  )
}

const keyOf = ({ kind, gateway = '', name }) => `${kind} ${gateway} ${name}`

/**
 * The rows in the order in which they appeared. What is resumed here keeps its row, so that the
 * next button does not move. `end` gets the pause, the messages that it had held, and the height
 * of the row.
 */
function useRows(value = []) {
  const order = useRef([])
  const [ended, setEnded] = useState({})
  const active = Object.fromEntries(value.map((pause) => [keyOf(pause), { pause }]))
  for (const key of Object.keys(active)) if (!order.current.includes(key)) order.current.push(key)
  const end = (pause, held, height) =>
    setEnded((last) => ({ ...last, [keyOf(pause)]: { pause, held, height } }))
  return { rows: order.current.flatMap((key) => active[key] ?? ended[key] ?? []), end }
}

function Name({ pause }) {
  const { kind, name, label = name, gateway } = pause
  const { at } = placeOfPause(pause)
  return html`<${Badge} kind="warn">${kindInWords(kind)}<//> ${at ? html`<a data-row href=${link(at)}>${label}</a>` : html`<b>${label}</b>`}${gateway && html` <span class="dim">in ${gateway}</span>`}`
}

/** Since when, by whom and why it is or was paused. */
function About({ pause }) {
  const { since, by, reason, drop } = pause
  return html`<td class="whole-words" data-label="since">${since !== undefined && html`<${Age} at=${since} /> ago`}</td><td class="pause-author" data-label="by">${authorOf(by) ?? ''}<${PauseChange} of=${pause} /></td>
    <td>${reason ?? ''}${drop && html` <span class="dim">messages are recorded as handled by a person</span>`}</td>`
}

/** The row of a resumed pause, with the outcomes of its messages. Keeps its `height`. */
function Resumed({ pause, held, height }) {
  return html`<tr style=${{ height: `${height}px` }}>
    <td class="group-name"><${Name} pause=${pause} /></td><${About} pause=${pause} />
    <td colspan="3"><b>Resumed.</b> ${HOLDS_MESSAGES.has(pause.kind) && !pause.drop && html`<${Released} held=${held} />`}</td>
  </tr>`
}

function Paused({ pause, end, done }) {
  const { kind, name, label = name, until, effect } = pause
  const { args, skill } = placeOfPause(pause)
  const [isBusy, once] = useOnce()
  // On a phone, an entry has it above its buttons.
  const hasOwnRow = effect && !isNarrow.value
  const resume = async (height) => {
    await act(async () => {
      const held = HOLDS_MESSAGES.has(kind) ? await heldMessages(pause) : { ids: [] }
      const said = await resumeWith(skill, args, pause)
      if (said !== undefined) end(pause, held, height)
      return said
    })
    done()
  }
  return html`<tr>
    <td class="group-name"><${Name} pause=${pause} /></td>
    <${About} pause=${pause} />
    <td class="whole-words" data-label="until">${until === undefined ? html`<span class="dim">${openEnd(pause.kind)}</span>` : html`<${Moment} at=${until} /> <span class="dim">in ${span(Math.max(0, until - clock.value))}</span>`}</td>
    <td class="whole-words" data-label=${pause.waiting > 0 || pause.runs > 0 ? 'waiting' : undefined}><${Waiting} of=${pause} /></td>
    ${isNarrow.value && effect && html`<td class="pause-about dim">${effect}</td>`}
    <td class="row-actions"><${ChangePause} of=${pause} done=${done} /><button changes type="button" class="small" aria-disabled=${isBusy} onClick=${(
      event,
    ) => {
      const row = event.currentTarget.closest('tr')
      const about = hasOwnRow ? (row.nextElementSibling?.offsetHeight ?? 0) : 0
      once(() => resume(row.offsetHeight + about))
    }} aria-label=${kind === 'conversation' ? `Hand back ${label}` : `Resume ${kind} ${label}`}>${kind === 'conversation' ? 'Hand back' : 'Resume'}${asks(pause) && ' …'}</button></td>
  </tr>${hasOwnRow && html`<tr class="pause-about"><td colspan="7" class="dim">${effect}</td></tr>`}`
}

/** The argument that names an object of the kind, if it is not that of the kind. */
const NAMING = { schedule: 'id', subscription: 'name' }

/** Everything but conversations, which are taken over in their own view. */
function PauseForm({ done }) {
  const [kind, setKind] = useState('route')
  const [name, setName] = useState('')
  const { value: routes = [] } = useLoaded((signal) => invoke('route-list', {}, signal), [])
  const { value: skills = [] } = useLoaded((signal) => call('GET', '/v1/skills', undefined, signal), [])
  const { value: schedules = [] } = useLoaded((signal) => invoke('schedule-list', {}, signal), [])
  // The words of the assistant are routes, too. Nobody pauses one of them.
  const words = new Set(
    skills.filter(({ kind, shipped }) => shipped && kind === 'prefix').map(({ name }) => name),
  )
  const names = {
    route: routes.filter(({ to }) => !words.has(to)).map((each) => each.name),
    skill: skills
      .filter(({ kind, name }) => kind !== 'built-in' && !words.has(name))
      .map((each) => each.name),
    gateway: (now.value?.gateways ?? []).map((each) => each.name),
    schedule: schedules.map((each) => each.id),
    subscription: (now.value?.subscriptions ?? []).map((each) => each.name),
  }[kind]
  const submit = async (event) => {
    event.preventDefault()
    if (!(await pauseWith({ kind, of: { [NAMING[kind] ?? kind]: name }, name }))) return
    setName('')
    done()
  }
  return html`<form class="pause-form" onSubmit=${submit}>
    <label>What <select value=${kind} onChange=${(event) => {
      setKind(event.target.value)
      setName('')
    }}><option value="route">route</option><option value="skill">skill</option><option value="gateway">gateway</option><option value="schedule">schedule</option><option value="subscription">push</option></select></label>
    <label>Name <select required value=${name} onChange=${(event) => setName(event.target.value)}>
      <option value="" disabled>choose …</option>${names.map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select></label>
    <button changes class="primary">Pause …</button>
  </form>
  <p class="hint">A conversation is paused with <i>Take over</i> in its own view.</p>`
}
