import { useState } from 'preact/hooks'
import { matchInWords } from '../../lib/match-words.ts'
import { policyInWords } from '../../lib/push-policy-words.ts'
import { invoke } from '../lib/api.js'
import { Figure } from '../lib/figure.js'
import { deletePush, pausePush, replayPush, resumePush, tryPush } from '../lib/group-actions.js'
import { html } from '../lib/html.js'
import { clock } from '../lib/live.js'
import { Age, act, Facts, fullTime, Json, Moment, span, useLoaded } from '../lib/parts.js'
import { PauseFacts } from '../lib/pauses.js'
import { go, link } from '../lib/router.js'
import { SubscriptionForm } from '../lib/subscription-form.js'
import { count } from '../lib/troubles.js'
import { isOfRule, PushState, ToSend } from './queues.js'

/** Polling interval, in ms. */
const POLL_INTERVAL = 5_000

/** The head of a push's page: its state, its fault, its waiting events, and its actions. */
export function PushHead({ topic, name, push, reload }) {
  const { url, match, state, oldestAt, dead } = push
  const loaded = useLoaded(
    (signal) => invoke('subscription-show', { name }, signal),
    [name, state, dead, Math.floor(clock.value / POLL_INTERVAL)],
  )
  const { value } = loaded
  const [settings, setSettings] = useState()
  const openForm = () =>
    act(async () => {
      const fresh = await invoke('subscription-show', { name })
      setSettings(fresh.settings)
    })
  const changed = () => {
    setSettings(undefined)
    loaded.reload()
  }
  const remove = async () => {
    if (await deletePush(name)) go('queues')
  }
  const [last] = value?.attempts ?? []
  const isStopped = state !== 'active' && state !== 'failing'
  const isTriable =
    !isStopped &&
    push.waiting > 0 &&
    (state === 'failing' || push.nextAt !== undefined || last?.reason !== undefined)
  return html`<header class="bar"><h1 id="title">${name} <${PushState} state=${state} last=${last} errors=${push.errors} isExact /></h1>
      <div class="buttons"><button changes type="button" onClick=${() => replayPush(push).then(reload)} aria-label=${`Replay ${name}`}>Replay …</button>
        ${
          isStopped
            ? html`<button changes type="button" class="primary" onClick=${() => resumePush(push)} aria-label=${`Resume ${name}`}>Resume …</button>`
            : html`<button changes type="button" onClick=${() => pausePush(push)} aria-label=${`Pause ${name}`}>Pause …</button>`
        }
        ${
          value?.source === 'api' &&
          html`<button changes type="button" onClick=${openForm} aria-label=${`Change ${name}`}>Change …</button>
        <button changes type="button" class="danger" onClick=${remove} aria-label=${`Delete ${name}`}>Delete …</button>`
        }</div></header>
    <${PushNotice} push=${push} last=${last} tryNow=${isTriable && (() => tryPush(push))} />
    ${push.replayed > 0 && html`<p><b>${count(push.waiting - push.replayed, 'event', push.more ? '+' : '')}</b> that ${name} has not got, and ${count(push.replayed, 'event')} that a replay sends again.</p>`}
    <p class="dim">Push subscription: ${topic} → ${url}${match ? html`, only events with <b>${matchInWords(match)}</b>` : ', every event of the topic'}.${value?.source === 'routes.yaml' && html` <span>Defined in routes.yaml.</span>`}${isOfRule(topic) && html` Sends the notifications of a rule of <code>notify:</code>.`}</p>
    <div class="figures-row"><${Figure} name="To send" value=${html`<${ToSend} of=${push} what="event" />`} />
      <${Figure} name="Waiting longest" value=${oldestAt === undefined ? 'none' : html`<${Age} at=${oldestAt} />`} />
      <${Figure} name="Next attempt" value=${push.nextAt === undefined ? (state === 'failing' && push.waiting === 0 ? 'with its next event' : 'none') : push.nextAt > clock.value ? html`<span title=${fullTime(push.nextAt)}>in ${span(push.nextAt - clock.value)}</span>` : 'now'} />
      <${Figure} name="Dead letters" value=${dead > 0 ? html`<a href=${link('dead-letters', { queue: `push/${name}` })}>${dead.toLocaleString('en')}</a>` : '0'} isBad=${dead > 0} /></div>
    ${push.waiting + push.unread > 0 && html`<p class="dim">${backlogInWords(push)}</p>`}
    ${value && html`<${Facts} of=${policyInWords(value.policy)} />`}
    ${value?.settings && html`<details><summary>Settings</summary><${Json} value=${value.settings} label="Settings" /></details>`}
    ${settings && html`<${SubscriptionForm} name=${name} settings=${settings} close=${changed} />`}`
}

/**
 * What is wrong with a push, since when and why, and what to do. `last`: its last attempt; `tryNow`: set
 * if an event can be tried now.
 */
function PushNotice({ push, last, tryNow }) {
  const { name, state, detail, paused, failingSince, errors, waiting, dead } = push
  const since = (at) => html`since <${Moment} at=${at} /> (<${Age} at=${at} />)`
  const isRetrying = state === 'active' && !errors && last?.reason !== undefined
  const isBad = state === 'failing' || state === 'disabled'
  const dropped =
    dead > 0 &&
    html` <a href=${link('dead-letters', { queue: `push/${name}` })}>${count(dead, 'event')} given up: see the dead letters</a>`
  if (!isBad && !paused && !errors && !isRetrying)
    return dropped ? html`<p class="now-it warn">${dropped}</p>` : null
  return html`<div class="now-it ${isBad ? 'bad' : 'warn'} push-notice"><p>${
    paused
      ? html`<b>Paused</b><${PauseFacts} of=${paused} />.`
      : state === 'disabled'
        ? html`<b>Switched off:</b> <span class="error">${detail}</span>`
        : state === 'failing'
          ? html`<b>Failing</b>${failingSince !== undefined && html` <b>${since(failingSince)}</b>`}, <span class="error">${detail}</span>`
          : errors
            ? html`<b>${errors.failed} of the last ${errors.of} attempts failed</b>, ${since(errors.since)}: <span class="error">${errors.reason}</span>`
            : html`<b>Retrying</b>${failingSince !== undefined && html` ${since(failingSince)}`}: <span class="error">${last.reason}</span>`
  }${state === 'failing' && waiting === 0 && ' Nothing waits to be sent: its next event shows whether the receiver works again.'}${dropped}</p>${paused && html`<button changes type="button" onClick=${() => pausePush(push)} aria-label=${`Change the pause of ${name}`}>Change the pause …</button>`}${tryNow && html`<button changes type="button" class="primary" onClick=${tryNow} aria-label=${`Try now: ${name}`}>Try now</button>`}</div>`
}

/**
 * What the events to send are, and how many unread ones are left out: `5 queued for their own next
 * attempts. 65 unread. The filter leaves out 152 other unread events.`
 */
function backlogInWords({ state, queued, unread, matching, more }) {
  const others = unread - matching
  const stays =
    state === 'failing' ? ': while the receiver fails, they keep their places, even after an attempt' : ''
  const parts = [
    queued > 0 &&
      `${queued.toLocaleString('en')} queued for ${queued === 1 ? 'its' : 'their'} own next attempt${queued === 1 ? '' : 's'}.`,
    matching > 0 && `${matching.toLocaleString('en')}${more ? '+' : ''} unread${stays}.`,
    more && 'Not all unread events were compared with its filter.',
    !more &&
      others > 0 &&
      `The filter leaves out ${count(others, matching > 0 ? 'other unread event' : 'unread event')}.`,
  ]
  return parts.filter(Boolean).join(' ')
}
