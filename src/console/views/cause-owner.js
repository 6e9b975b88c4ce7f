import { html } from '../lib/html.js'
import { now } from '../lib/live.js'
import { TakenBy } from './taken-troubles.js'

/**
 * Who takes care of a cause of dead letters (`{ queue, group, pattern }`, with its `code` if that is
 * known), if anybody does.
 */
export function CauseOwner({ of }) {
  const isOfCause = ({ code, where }) =>
    code === 'dead-letters' &&
    ['queue', 'pattern'].every((key) => where[key] === of[key]) &&
    // A cause in several routes has none.
    (where.group === undefined || where.group === of.group) &&
    (of.code === undefined || where.code === of.code)
  const taken = now.value?.troubles?.find((trouble) => trouble.acknowledged && isOfCause(trouble))
  return taken ? html`<p class="owner"><${TakenBy} of=${taken.acknowledged} /></p>` : null
}
