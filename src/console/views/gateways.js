import { useRef, useState } from 'preact/hooks'
import { call } from '../lib/api.js'
import { html } from '../lib/html.js'
import { now } from '../lib/live.js'
import { Age, act, Badge, Loading, Moment, StoreAway, useLoaded, Wait, Words } from '../lib/parts.js'
import { Pause, usePause } from '../lib/pause.js'
import { PauseFacts, Waiting } from '../lib/pauses.js'
import { refusalsOf, refusesAll, refusesNow, unpulledOf } from '../lib/refusing.js'
import { link } from '../lib/router.js'
import { withLocalTimes, withoutCommands } from '../lib/troubles.js'
import { downOf, GatewayState, Traffic, useTraffic } from './gateway-state.js'
import { Refusals } from './refusals.js'

/** All gateways, and their newest refusals. */
export function GatewaysPage() {
  const gateways = now.value?.gateways ?? []
  const status = useLoaded((signal) => call('GET', '/v1/status', undefined, signal), [gateways.length])
  const { loaded, traffic } = useTraffic()
  const pauses = pausedGateways(now.value?.troubles)
  const below = useRef()
  return html`<section class="page" aria-labelledby="title">
    <header class="bar"><h1 id="title">Gateways</h1><div class="buttons"><button type="button" onClick=${() => below.current?.scrollIntoView()}>Refusals ↓</button><${CheckAll} names=${gateways.map(({ name }) => name)} /></div></header>
    <${StoreAway} />
    ${now.value === undefined ? html`<${Loading} />` : loaded.error && html`<${Wait} of=${loaded} what="the traffic" />`}
    ${status.error && html`<${Wait} of=${status} what="the gateways that are off" />`}
    <div class="cards">${worstFirst(gateways, traffic, pauses).map((each) => html`<${Card} key=${each.name} gateway=${each} traffic=${traffic[each.name]} isUnknown=${loaded.error !== undefined} />`)}
      ${(status.value?.disabled ?? []).map(
        ({ name, transport, why }) => html`<article class="card" key=${name}>
        <header class="card-head"><h2>${name}</h2><${Badge}>off<//></header><p class="dim">${transport}</p><p>${why}</p></article>`,
      )}
    </div>
    <h2 ref=${below}>Refusals</h2>
    <${Refusals} at=${loaded.at} />
  </section>`
}

function pausedGateways(troubles = []) {
  return new Set(troubles.filter(({ code }) => code === 'paused').map(({ where }) => where.gateway))
}

/**
 * The order: not working, refusing all, refusing many, not pulled, changed, accepting again, paused,
 * and the others as configured.
 */
function worstFirst(gateways, traffic, paused) {
  const rank = (gateway) => {
    const { name, ok } = gateway
    if (!ok) return 0
    if (refusesNow(gateway, traffic[name], now.value?.troubles))
      return refusesAll(name, traffic[name], now.value?.troubles) ? 1 : 2
    if (unpulledOf(name, now.value?.troubles)) return 3
    if (gateway.changed !== undefined || gateway.recovered !== undefined) return 4
    return paused.has(name) ? 5 : 6
  }
  return gateways.toSorted((one, other) => rank(one) - rank(other))
}

function Card({ gateway, traffic, isUnknown }) {
  const { name, transport, ok, detail } = gateway
  const { pause } = usePause({ kind: 'gateway', of: { gateway: name }, name })
  const downSince = downOf(name)?.since
  const troubles = now.value?.troubles
  const unpulled = unpulledOf(name, troubles)
  const isRefusing = ok && refusesNow(gateway, traffic, troubles)
  const refusing = isRefusing && refusalsOf(name, troubles)
  const isFine = ok && !isRefusing && !unpulled && pause === undefined
  return html`<article class=${`card gateway-card ${isFine ? 'is-fine' : ''}`} aria-labelledby=${`gateway-${name}`}>
    <header class="card-head"><h2 id=${`gateway-${name}`}><a href=${link(['gateways', name])}>${name}</a></h2><${GatewayState} of=${gateway} traffic=${traffic} isUnknown=${isUnknown} isPaused=${pause !== undefined} /></header>
    <p class="kind dim">${transport}</p>
    <p class=${ok ? 'detail' : 'detail error'}>${withLocalTimes(detail ?? '')}</p>
    ${downSince !== undefined && html`<p class="dim">for <${Age} at=${downSince} /></p>`}
    ${unpulled && html`<p class="held">${unpulled.count.toLocaleString('en')} not pulled, last pull <${Age} at=${unpulled.since} /> ago</p>`}
    ${refusing?.since !== undefined && html`<p class="error">for <${Age} at=${refusing.since} />, since <${Moment} at=${refusing.since} /></p><p class="what-to-do"><${Words} text=${withoutCommands(withLocalTimes(refusing.todo))} /></p>`}
    <${Traffic} of=${traffic} isOver=${!isRefusing} />
    <p class="buttons"><${Pause} isSmall isLeft kind="gateway" of=${{ gateway: name }} name=${name} />
      <a class="button small" href=${link('messages', { gateway: name })} aria-label=${`Messages of ${name}`}>Messages</a></p>
    ${pause && html`<p class="pause-line">Paused<${PauseFacts} of=${pause} />. <${Waiting} of=${pause} />${pause.waiting > 0 && (pause.waiting === 1 ? ' waits.' : ' wait.')}</p>`}
  </article>`
}

/** Checks all gateways, one after another, with progress. */
function CheckAll({ names }) {
  const [done, setDone] = useState()
  const [wrong, setWrong] = useState()
  const run = () =>
    act(async () => {
      setWrong(undefined)
      const failed = []
      for (const [index, gateway] of names.entries()) {
        setDone(index)
        const found = await call('POST', '/v1/doctor', { gateway })
        if (found.some(({ ok }) => !ok)) failed.push(gateway)
      }
      setWrong(failed)
    }).finally(() => setDone(undefined))
  return html`<span class="buttons"><span role="status" class="dim">${done !== undefined && `Checking ${names[done]}: ${done + 1} of ${names.length}`}
    ${wrong && (wrong.length > 0 ? html`${names.length} checked. Failing: ${wrong.map((name) => html`<a key=${name} href=${link(['gateways', name])}>${name}</a> `)}` : `${names.length} checked. All checks are ok.`)}</span>
    <button changes type="button" disabled=${done !== undefined || names.length === 0} onClick=${run}>Check all</button></span>`
}
