import { authorOf } from './authors.js'
import { tryPush } from './group-actions.js'
import { html } from './html.js'
import { nextIn } from './job-words.js'
import { now } from './live.js'
import { Age, Moment } from './parts.js'
import { PauseList } from './pauses.js'
import { Resume } from './resume-button.js'
import { link } from './router.js'
import { count } from './troubles.js'

/** Outcomes of messages that a pause may hold. */
const HELD = ['waiting', 'retrying']

/**
 * What the messages or events that a job queued wait for: pauses, a reader of the group, or the failing receiver of a push
 * with its last error and the next attempt. `done` is called after a pause was ended here. `isShort`:
 * for a list.
 */
export function Waits({ of: { kind, target, outcomes = {}, waitsFor = [] }, done, isShort = false }) {
  const receivers = waitsFor.filter((each) => each.kind === 'receiver')
  const readers = waitsFor.filter((each) => each.kind === 'reader')
  const many = HELD.reduce((sum, outcome) => sum + (outcomes[outcome] ?? 0), 0)
  const pauses = waitsFor
    .filter((each) => !['receiver', 'reader'].includes(each.kind))
    .map((pause) => ({ waiting: many, ...pause }))
  return html`${
    pauses.length > 0 &&
    html`<p><b>${count(many, kind === 'replay' ? 'event' : 'message')} ${many === 1 ? 'waits' : 'wait'} until the ${pauses.length === 1 ? 'pause ends' : 'pauses end'}:</b></p><${PauseList} of=${pauses} Action=${Resume} done=${done} />`
  }${receivers.map((each) => html`<${Receiver} key=${each.name} of=${each} isShort=${isShort} />`)}${readers.map((each) => html`<${Reader} key=${each.name} of=${each} topic=${target.topic} isShort=${isShort} />`)}`
}

function Reader({ of: { name, since, by }, topic, isShort }) {
  const page = link(['queues', topic, name])
  return html`<p class="now-it warn waits-for"><b>Waits for a reader of <a href=${page}>${name}</a></b>: none ${since === undefined ? 'since the daemon started' : isShort ? html`for <${Age} at=${since} isCompared />` : html`since <${Moment} at=${since} /> (<${Age} at=${since} isCompared />)`}.${by && !isShort && ` The last one was ${authorOf(by)}.`}</p>`
}

function Receiver({ of: { name, since, error, nextAt }, isShort }) {
  const push = now.value?.subscriptions?.find((each) => each.name === name)
  const page = push ? link(['queues', push.topic, name]) : link('queues')
  return html`<p class="now-it warn waits-for"><b>Waits for the receiver of <a href=${page}>${name}</a></b>, which ${since === undefined ? 'failed' : isShort ? html`fails for <${Age} at=${since} isCompared />` : html`has failed since <${Moment} at=${since} /> (<${Age} at=${since} isCompared />)`}: <span class="error">${error}</span>${nextAt !== undefined && html` <span class="dim">· ${nextIn(nextAt)}</span>`} <button changes type="button" class="small" onClick=${() => tryPush({ name })}>Try now</button></p>`
}
