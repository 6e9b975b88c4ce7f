import { useEffect } from 'preact/hooks'
import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { now } from '../lib/live.js'
import { percent } from '../lib/money.js'
import { Age, Badge, span, useLoaded } from '../lib/parts.js'
import { refusesAll, refusesNow, unpulledOf } from '../lib/refusing.js'

/** Polling interval of the traffic, in ms. */
const POLL_INTERVAL = 10_000

/** Changes when a gateway begins to refuse deliveries, is changed, or accepts them again. */
export const stateOf = ({ refuses, changed, recovered } = {}) => refuses ?? changed ?? recovered ?? ''

/** The traffic of the last hour per gateway, polled while the page is shown. `state`: see `stateOf`. */
export function useTraffic(gateway, state = '') {
  const loaded = useLoaded(
    (signal) => invoke('gateway-traffic', gateway ? { gateway } : {}, signal),
    [gateway, state, now.value?.rates?.refused ?? 0],
  )
  const { value, reload } = loaded
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), POLL_INTERVAL)
    return () => clearInterval(timer)
  }, [gateway])
  return { loaded, traffic: Object.fromEntries((value ?? []).map((each) => [each.gateway, each])) }
}

/** The trouble of a gateway that does not work; undefined if it works. */
export function downOf(name) {
  return now.value?.troubles?.find(({ code, where }) => code === 'gateway-down' && where.gateway === name)
}

/** Rate, last message, refusals, and a chart of the last hour. `isOver`: it does not refuse now. */
export function Traffic({ of, isOver }) {
  if (!of) return html`<p class="traffic dim">…</p>`
  const { perMinute, lastAt, searchedTo, refused, errorShare, minutes } = of
  return html`<div class="traffic"><${Sparkline} of=${minutes} />
    <p>${perMinute.toLocaleString('en')} a minute <span class="dim">${lastAt === undefined ? (searchedTo === undefined ? 'no message yet' : html`none for <${Age} at=${searchedTo} />`) : html`last <${Age} at=${lastAt} /> ago`}</span>
    ${refused > 0 && html`<span class=${isOver ? 'dim' : 'error'}>${refused.toLocaleString('en')} refused (${percent(errorShare)})${isOver && `, last ${agoOf(minutes.refused)} ago`}</span>`}</p></div>`
}

/** How long ago the last of the counts per minute is. */
function agoOf(counts) {
  const minutes = counts.length - 1 - counts.findLastIndex((count) => count > 0)
  return minutes === 0 ? 'under a minute' : span(minutes * 60_000)
}

const WIDTH = 240
const HEIGHT = 32

/**
 * Accepted and refused messages per minute in the last hour, as two lines, with the highest number.
 * The numbers next to the chart give the same information.
 */
function Sparkline({ of: { accepted, refused } }) {
  const most = Math.max(1, ...accepted, ...refused)
  const path = (counts) =>
    counts
      .map(
        (count, at) =>
          `${((at * WIDTH) / (counts.length - 1)).toFixed(1)},${(HEIGHT - 1 - ((HEIGHT - 2) * count) / most).toFixed(1)}`,
      )
      .join(' ')
  const hasAny = [...accepted, ...refused].some((count) => count > 0)
  return html`<span class="scale">${hasAny && `last hour, peak: ${most.toLocaleString('en')} a minute`}</span><svg class="sparkline" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
    <polyline class="good" points=${path(accepted)} />
    ${refused.some((count) => count > 0) && html`<polyline class="bad" points=${path(refused)} />`}
  </svg>`
}

/** A paused gateway is not shown as working. If it refuses or is down, that is shown too. */
export function GatewayState({ of, traffic, isUnknown, isPaused }) {
  const troubles = now.value?.troubles
  const isFine = of.ok && !refusesNow(of, traffic, troubles) && !unpulledOf(of.name, troubles)
  return html`<span class="states">${!(isPaused && isFine) && html`<${Connection} of=${of} traffic=${traffic} isUnknown=${isUnknown} />`}${isPaused && html` <${Badge} kind="warn">paused<//>`}</span>`
}

function Connection({ of, traffic, isUnknown }) {
  const { ok, changed, recovered = 'works' } = of
  // Without its traffic, it is unknown whether the gateway refuses.
  if (ok && !traffic)
    return html`<${Badge} title="Its traffic is not known">${isUnknown ? 'connected' : '…'}<//>`
  const troubles = now.value?.troubles
  if (ok && refusesNow(of, traffic, troubles)) {
    const isAll = refusesAll(of.name, traffic, troubles)
    return html`<${Badge} kind=${isAll ? 'bad' : 'warn'}>${isAll ? 'refuses all' : 'refuses many'}<//>`
  }
  if (ok && unpulledOf(of.name, troubles)) return html`<${Badge} kind="warn">not pulled<//>`
  if (ok && changed) return html`<${Badge} title=${changed}>changed, not proven yet<//>`
  return html`<${Badge} kind=${ok ? 'good' : 'bad'}>${ok ? recovered : 'does not work'}<//>`
}
