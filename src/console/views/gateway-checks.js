import { useState } from 'preact/hooks'
import { call } from '../lib/api.js'
import { html } from '../lib/html.js'
import { clock } from '../lib/live.js'
import { Age, act, Badge, elapsed, Words } from '../lib/parts.js'
import { withLocalTimes, withoutCommands } from '../lib/troubles.js'

/** The end of the name of the check of refusals. It is always current. */
const OF_REFUSALS = ': deliveries'

/**
 * The checks of `trivium doctor` for this gateway. They contact the provider, so they run only on
 * request. `of`: the result of `gateway-show`.
 */
export function Checks({ name, of, reload }) {
  const [began, setBegan] = useState()
  const check = () =>
    act(async () => {
      setBegan(Date.now())
      await call('POST', '/v1/doctor', { gateway: name }).finally(() => setBegan(undefined))
      reload()
    })
  const { checks = [] } = of ?? {}
  const at = checks.find((each) => !each.name.endsWith(OF_REFUSALS))?.at
  return html`<ul class="plain checks">${checks.map((each) => html`<${Finding} key=${each.name} gateway=${name} of=${each} />`)}
    ${of && at === undefined && html`<li class="dim">Not tested since the daemon started. The state above is from its own traffic.</li>`}</ul>
  <p class="buttons"><button changes type="button" disabled=${began !== undefined} onClick=${check}>${at === undefined ? 'Check now' : 'Check again'}</button>
    <span role="status" class="dim">${began !== undefined ? `Checking for ${elapsed(Math.max(0, clock.value - began))}; a mailbox sends a mail to itself and waits for it.` : ''}
      ${began === undefined && at !== undefined && html`Checked <${Age} at=${at} /> ago.`}</span></p>`
}

function Finding({ gateway, of: { name, ok, warning, detail } }) {
  const [kind, word] = ok ? (warning ? ['warn', 'note'] : ['good', 'ok']) : ['bad', 'failing']
  const text = withLocalTimes(detail)
  return html`<li><${Badge} kind=${kind}>${word}<//> <b>${name.slice(gateway.length + 2)}</b> <${Words} text=${name.endsWith(OF_REFUSALS) ? withoutCommands(text) : text} /></li>`
}
