import { matchInWords } from '../../lib/match-words.ts'
import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { now } from '../lib/live.js'
import { isExamined, mayTake } from '../lib/may-take.js'

const TOPIC = 'gateway-message'
/** What a `match` can say about a gateway. */
const KEYS_OF_GATEWAYS = ['gateway', 'transport']

/**
 * The consumer groups and pushes whose filter does not exclude a gateway. `condition`: what else
 * the message must match. Undefined if they cannot be read.
 */
export async function receiversOf(gateway) {
  const about = now.value?.gateways?.find(({ name }) => name === gateway) ?? { name: gateway }
  const groups = await invoke('event-groups', {}).catch(() => undefined)
  return groups
    ?.filter(({ topic }) => topic === TOPIC)
    .map(({ group, push, match = push?.match }) => ({ group, push, match }))
    .filter((one) => mayTake(one, about))
    .map(({ group, push, match }) => ({
      name: `${push ? 'push' : 'group'} ${group}`,
      isPaused: Boolean(push?.paused),
      condition: matchInWords(otherKeys(match)),
    }))
}

/** The keys that are not decided by the gateway alone. */
function otherKeys(match = {}) {
  const isDecided = ([key, wanted]) => KEYS_OF_GATEWAYS.includes(key) && [wanted].flat().every(isExamined)
  return Object.fromEntries(Object.entries(match).filter((entry) => !isDecided(entry)))
}

/** Names the consumer groups and pushes that get a test. */
export function Receivers({ of }) {
  if (of === undefined) return 'Consumer groups and pushes get it too.'
  if (of.length === 0) return 'No consumer group and no push gets it.'
  return html`<ul>${of.map(({ name, isPaused, condition }) => html`<li key=${name}><b>${name}</b>${condition && ` if it matches ${condition}`}${isPaused && ', when it is resumed'}</li>`)}</ul>`
}
