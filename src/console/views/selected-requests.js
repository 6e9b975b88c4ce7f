import { amountsIn } from '../../lib/amounts.ts'
import { invoke } from '../lib/api.js'
import { effectOfDenials, reasonLabels } from '../lib/approval-reason.js'
import { requesterOf } from '../lib/authors.js'
import { html } from '../lib/html.js'
import { isNarrow } from '../lib/live.js'
import { act, ask, say, useOnce } from '../lib/parts.js'
import { PauseList } from '../lib/pauses.js'
import { SelectionBar } from '../lib/selection.js'
import { count } from '../lib/troubles.js'

/** The buttons that decide all selected requests, in one dialog. `done` runs after it. */
export function SelectedRequests({ selection, done }) {
  const [isBusy, once] = useOnce()
  const decide = (approve) => once(() => decideAll(selection, approve, done))
  const many = selection.chosen.length
  return html`<${SelectionBar} of=${selection}>
    <button changes type="button" class="primary" data-decide-all="approve" aria-disabled=${isBusy} onClick=${() => decide(true)}>Approve ${many} … <kbd class="wide">a</kbd></button>
    <button changes type="button" class="danger" data-decide-all="deny" aria-disabled=${isBusy} onClick=${() => decide(false)}>Deny ${many} … <kbd class="wide">d</kbd></button>
  <//>`
}

/** Asks once, then decides each request. Those that could not be decided stay selected. */
async function decideAll(selection, approve, done) {
  const requests = selection.chosen
  const verb = approve ? 'Approve' : 'Deny'
  let reason = ''
  const note = (event) => {
    reason = event.target.value.trim()
  }
  const body = html`<p class="effect">${approve ? html`<${EffectOfApprovals} of=${requests} />` : effectOfDenials(requests)}</p>
    <${Listed} of=${requests} />
    <label>${reasonLabels(requests, approve)} <input maxlength="500" autofocus=${!isNarrow.peek()} onInput=${note} /></label>`
  const title = `${verb} ${count(requests.length, 'request')}?`
  const action = `${verb} ${requests.length}`
  if (!(await ask({ title, body, action, danger: !approve, needsCtrl: true }))) return
  await act(async () => {
    const failures = []
    const decided = []
    for (const request of requests)
      await invoke('approval-decide', { id: request.id, approve, ...(reason && { reason }) }).then(
        () => decided.push(request),
        ({ message }) => failures.push(`${request.title}: ${message}`),
      )
    selection.drop(decided)
    done()
    const word = approve ? 'approved' : 'denied'
    if (failures.length === 0) return `${count(decided.length, 'request')} ${word}.`
    say(`${decided.length} ${word}; ${failures.length} failed: ${failures.join('; ')}`, 'bad')
    return undefined
  })
}

/** What several approvals do: which calls run immediately, and which wait for a pause. */
function EffectOfApprovals({ of: requests }) {
  const held = requests.filter(({ pausedBy = [], runsDespite }) => pausedBy.length > 0 && !runsDespite)
  const running = requests.length - held.length
  const pauses = [
    ...new Map(
      held.flatMap(({ pausedBy }) => pausedBy.map((pause) => [`${pause.kind} ${pause.name}`, pause])),
    ).values(),
  ]
  return html`${running > 0 && `${count(running, 'call')} ${running === 1 ? 'runs' : 'run'} immediately. `}${held.length > 0 && html`<b>${count(held.length, 'call')} ${held.length === 1 ? 'waits' : 'wait'} for a pause to end.</b><${PauseList} of=${pauses} />`}`
}

/** The requests by their titles and people, and their total, if their amounts have one unit. */
function Listed({ of: requests }) {
  const total = totalOf(requests)
  return html`<ul class="plain decided-together">${requests.map((request) => html`<li key=${request.id}><b>${request.title}</b> <span class="dim">${requesterOf(request)}</span></li>`)}</ul>
    ${total && html`<p>Together: <b>${total}</b></p>`}`
}

/** `102.40 EUR`: the sum of an argument that each request has once, in one unit. Undefined otherwise. */
function totalOf(requests) {
  const amounts = requests.map(({ args }) => [...amountsIn(args).values()])
  const [first] = amounts.flat()
  if (requests.length < 2 || !first?.unit) return undefined
  if (!amounts.every((each) => each.length === 1 && each[0].unit === first.unit)) return undefined
  const sum = amounts.reduce((total, [{ value }]) => total + value, 0)
  return `${sum.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })} ${first.unit}`
}
