import { clock } from './live.js'
import { span } from './parts.js'

/** Whether a consumer group or a push has got the event of a message: in words, and a kind of badge. */
export function deliveryOf({ state, push }) {
  if (!push) return state === 'read' ? { kind: 'good', text: 'read' } : { kind: 'dim', text: 'not read yet' }
  if (state === 'delivered')
    return { kind: 'good', text: push.again ? 'delivered, a replay sends it again' : 'delivered' }
  if (state === 'failed') return { kind: 'bad', text: `attempt ${push.attempt} failed${nextOf(push)}` }
  if (state === 'withdrawn') return { kind: 'dim', text: 'withdrawn' }
  if (state === 'dead')
    return { kind: 'bad', text: push.attempt ? `dead after attempt ${push.attempt}` : 'dead' }
  if (state === 'removed') return { kind: 'dim', text: 'dead letter dropped' }
  if (state === 'excluded') return { kind: 'dim', text: 'filtered out' }
  return { kind: 'dim', text: state === 'waiting' ? waitOf(push) : 'no attempt known' }
}

/**
 * `group search-index and push analytics`: those that have not got the event yet, and will. Empty if
 * there are none.
 */
export function stillToGet(events = []) {
  const open = events.filter(({ state, push }) =>
    push ? state === 'waiting' || state === 'failed' : state !== 'read',
  )
  return open.map(({ group, push }) => `${push ? 'push' : 'group'} ${group}`).join(' and ')
}

/** Why a push has not sent an event yet. */
function waitOf(push) {
  if (push.since !== undefined) return 'waits for a replay'
  if (push.held === 'paused') return 'not sent yet, the push is paused'
  if (push.held === 'gone') return 'not sent yet, its receiver is gone (410)'
  return push.held === 'failing' ? `not sent yet, the push fails${nextOf(push)}` : 'not sent yet'
}

function nextOf({ nextAt, held, attempt }) {
  if (nextAt === undefined) return ''
  // One of several failed events is not the next one that is tried.
  if (held === 'failing' && attempt !== undefined) return ', waits until the receiver answers'
  return nextAt > clock.value ? `, next attempt in ${span(nextAt - clock.value)}` : ', next attempt is due'
}
