import { call, invoke } from '../lib/api.js'
import { Yaml } from '../lib/code.js'
import { html } from '../lib/html.js'
import { now } from '../lib/live.js'
import { Age, Badge, Empty, Gist, Outcome, took, useLoaded, Wait } from '../lib/parts.js'
import { Pause } from '../lib/pause.js'
import { link } from '../lib/router.js'
import { Back } from '../lib/trail.js'
import { count } from '../lib/troubles.js'
import { routeIn } from '../lib/yaml.js'

/** Number of its last messages that are shown. */
const FEW = 20

/** One route: its lines in the configuration, how many messages it took, the last ones, and its pause. */
export function RoutePage({ name }) {
  const { at = 0 } = now.value?.configuration ?? {}
  const loaded = useLoaded((signal) => call('GET', '/v1/configuration', undefined, signal), [at])
  const { value } = loaded
  const route = value?.routes?.find((each) => each.name === name)
  const place = value?.files?.map((file) => ({ file, ...routeIn(file.yaml, name) })).find(({ text }) => text)
  return html`<section class="page" aria-labelledby="title">
    <${Back} to="configuration" title="Configuration" />
    <${Wait} of=${loaded} what="the configuration" />
    ${value && !route && html`<h1 id="title">${name}</h1><${Empty} title="There is no route of this name."><a href=${link('configuration', { show: 'routes' })}>All routes</a><//>`}
    ${route && html`<${Shown} route=${route} place=${place} since=${value.countedSince} />`}
  </section>`
}

function Shown({ route: { name, match, skill, queue, bolt, hour, day, lastAt }, place, since }) {
  const target = skill
    ? html`the skill <a href=${link(['skills', skill])}>${skill}</a>`
    : queue
      ? `the queue ${queue}`
      : bolt
        ? `the app ${bolt}`
        : 'nothing'
  return html`<header class="bar"><h1 id="title">${name} <${Badge}>route<//></h1>
      <div class="buttons"><${Pause} of=${{ route: name }} kind="route" name=${name} /><a class="button" href=${link('messages', { outcome: 'waiting', gateway: gatewayOf(match) })}>Messages that wait</a><a class="button" href=${link('dead-letters', { group: name })}>Its dead letters</a></div></header>
    <p>Its messages go to ${target}.</p>
    <div class="figures-row"><${Figure} name="Last hour" value=${hour.toLocaleString('en')} /><${Figure} name="Last day" value=${day.toLocaleString('en')} />
      <${Figure} name="Last message" value=${lastAt ? html`<${Age} at=${lastAt} /> ago` : 'none'} /></div>
    <p class="dim">Counted by this daemon, which runs for <${Age} at=${since} />.</p>
    <${Held} route=${name} skill=${skill} />
    ${place ? html`<h2>In ${place.file.file}, line ${place.line}</h2><${Yaml} text=${place.text} first=${place.line} label=${`The route ${name}`} />` : html`<p class="dim">It comes from the skill${skill ? ` ${skill}` : ''}, not from routes.yaml.</p>`}
    ${skill && html`<h2>Last messages</h2><${Runs} route=${name} skill=${skill} />`}`
}

/** The gateway of a route that names one: lists of messages know no route. */
function gatewayOf({ gateway } = {}) {
  return typeof gateway === 'string' && !/[*?[{]/.test(gateway) ? gateway : undefined
}

/** The messages that wait because the route or its skill is paused. */
function Held({ route, skill }) {
  const known = now.value?.troubles?.filter(({ code }) => code === 'paused').length ?? 0
  const { value } = useLoaded(
    async (signal) => {
      const pauses = await invoke('pause-list', {}, signal)
      const pause = pauses.find(
        ({ kind, name }) => (kind === 'route' && name === route) || (kind === 'skill' && name === skill),
      )
      const ids = pause?.messageIds ?? []
      const shown = await Promise.all(
        ids.map((id) => invoke('message-show', { id }, signal).catch(() => ({ message: { id } }))),
      )
      return { pause, messages: shown.map(({ message }) => message) }
    },
    [route, skill, known],
  )
  const { pause, messages = [] } = value ?? {}
  if (!pause) return null
  return html`<h2>Waiting while the ${pause.kind} is paused</h2>
    ${messages.length === 0 ? html`<p class="dim">No message waits.</p>` : html`<p>${count(pause.waiting, 'message')}${pause.waiting > messages.length && `, the oldest ${messages.length}`}:</p>`}
    <ul class="newest" aria-label="Waiting messages">${messages.map(
      (message) =>
        html`<li key=${message.id}><a data-row href=${link(['messages', message.id])}>${message.receivedAt && html`<${Age} at=${message.receivedAt} />`}<span class="one-line"><${Gist} of=${{ text: message.text, subject: message.subject }} /></span><${Outcome} outcome="waiting" /></a></li>`,
    )}</ul>`
}

function Figure({ name, value }) {
  return html`<div class="figure"><span class="dim">${name}</span><b>${value}</b></div>`
}

/** The last runs of its skill that the route began, with their messages. */
function Runs({ route, skill }) {
  const loaded = useLoaded((signal) => invoke('skill-usage', { name: skill, since: '7d' }, signal), [skill])
  const runs = (loaded.value?.recent ?? []).filter(({ by }) => by === `route ${route}`).slice(0, FEW)
  return html`<${Wait} of=${loaded} what="its messages" />
    ${loaded.value && runs.length === 0 && html`<p class="dim">No message of it ran lately; those of a paused route wait.</p>`}
    ${
      runs.length > 0 &&
      html`<div class="scrolls" tabindex="0" role="region" aria-label="Last messages"><table class="runs">
      <thead><tr><th scope="col">ended</th><th scope="col">outcome</th><th scope="col" class="number">took</th><th scope="col">message</th></tr></thead>
      <tbody>${runs.map(
        (
          { at, ms, messageId, code, error },
          index,
        ) => html`<tr key=${`${at} ${index}`}><td><${Age} at=${at} /> ago</td>
        <td>${code ? html`<${Badge} kind="bad">${code}<//> <span class="error">${error}</span>` : html`<${Badge} kind="good">ok<//>`}</td>
        <td class="number">${took(ms)}</td><td>${messageId && html`<a data-row href=${link(['messages', messageId])}>…${messageId.slice(-8)}</a>`}</td></tr>`,
      )}</tbody></table></div>`
    }`
}
