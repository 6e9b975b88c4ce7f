import { heldText } from '../../lib/held-text.ts'
import { html } from '../lib/html.js'
import { now } from '../lib/live.js'
import { Age, Badge } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { amount } from './now.js'

const ROADS = {
  journal: 'kept in the journal',
  dispatch: 'to be handled by skills',
  receive: 'kept for workers; no backlog without them',
  outbox: 'to be sent',
}

/** The messages that a road counts. */
const OF_ROAD = {
  journal: {},
  dispatch: { outcome: 'waiting,running,retrying,approval' },
  outbox: { outcome: 'replying' },
}

/** The table of the roads, below the charts. */
export function Roads() {
  const roads = now.value?.roads ?? []
  return html`<table>
    <caption>Roads</caption>
    <thead><tr><th>road</th><th class="number">messages</th><th class="number">dead</th><th>oldest</th></tr></thead>
    <tbody>${roads.map(
      ({ road, messages, waiting, leased, held, dead, tests = 0, oldestAt, pulled }) => html`<tr key=${road}>
        <td>${road} <span class="dim wide">${road === 'receive' && pulled ? html`<${Pulled} of=${pulled} leased=${leased} />` : leased > 0 ? `${amount(leased)} leased, ${amount(waiting)} not pulled` : held > 0 ? html`<a href=${link('paused')}>${heldText(held)}</a>` : ROADS[road]}</span></td>
        <td class="number">${OF_ROAD[road] && messages > 0 ? html`<a href=${link('messages', OF_ROAD[road])}>${amount(messages)}</a>` : amount(messages)}</td>
        <td class="number">${dead > tests ? html`<a href=${link('dead-letters', { queue: road })}><${Badge} kind="bad">${amount(dead - tests)}<//></a>` : ''}</td>
        <td>${oldestAt && messages > 0 && road !== 'receive' ? html`<${Age} at=${oldestAt} />` : ''}</td>
      </tr>`,
    )}</tbody>
  </table>`
}

/** The messages that workers have not pulled yet, of gateways that they use. */
function Pulled({ of: { waiting, more, lastAt }, leased }) {
  return html`${leased > 0 && `${amount(leased)} leased, `}${amount(waiting)}${more && '+'} not pulled; last pull <${Age} at=${lastAt} /> ago`
}
