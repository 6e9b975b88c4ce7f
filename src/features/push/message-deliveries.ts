import { MESSAGE_TOPIC } from '../../core/event.ts'
import { defined } from '../../lib/defined.ts'
import type { EventState } from './event-state.ts'
import type { Withdrawn } from './withdrawn-attempts.ts'

type Attempt = {
  subscription?: string
  at?: number
  since?: number
  attempt?: number
  status?: number
  reason?: string
  nextAt?: number
  held?: 'failing'
  isDead?: boolean
  deliveredAt?: number
  withdrawn?: Withdrawn
}
type Shown = {
  message: { id: string }
  events: readonly { group: string; state: string }[]
  pushes: readonly Attempt[]
}

/**
 * Wraps `message-show`: the group of a push subscription gets the state of its delivery (`stateOf`)
 * instead of that of the group, and in `push` its last attempt, or why it is not sent. A group may be
 * past an event that the push has not sent. `attempts`: newest first.
 */
export function withDeliveries<Args extends unknown[], Result extends Shown>(
  show: (...args: Args) => Promise<Result>,
  isPush: (topic: string, group: string) => boolean,
  stateOf: (group: string, id: string, attempts: readonly Attempt[]) => Promise<EventState>,
) {
  return async (...args: Args): Promise<Result> => {
    const shown = await show(...args)
    const { id } = shown.message
    const stateIn = async (one: Shown['events'][number]) => {
      if (!isPush(MESSAGE_TOPIC, one.group)) return one
      const attempts = shown.pushes.filter(({ subscription }) => subscription === one.group).toReversed()
      return { ...one, ...deliveryIn(await stateOf(one.group, id, attempts), attempts) }
    }
    return { ...shown, events: await Promise.all(shown.events.map(stateIn)) }
  }
}

/** `attempts`: newest first. */
function deliveryIn(found: EventState, attempts: readonly Attempt[]): { state: string; push: object } {
  const { state, ...facts } = found
  const last = attempts[0] ? summaryOf(attempts[0]) : {}
  switch (state) {
    case 'unread':
    case 'queued':
    case 'waiting':
      return { state: 'waiting', push: facts }
    case 'delivered': {
      const accepted = attempts.find(isDelivered)
      const again = 'again' in found ? { again: found.again } : {}
      return { state, push: { ...(accepted ? summaryOf(accepted) : last), ...again } }
    }
    case 'retrying':
      return { state: 'failed', push: last }
    default:
      return { state, push: last }
  }
}

function isDelivered({ reason, deliveredAt }: Attempt): boolean {
  return reason === undefined || deliveredAt !== undefined
}

function summaryOf({ at, attempt, status, reason, nextAt, held, withdrawn }: Attempt) {
  return defined({ at, attempt, status, reason, nextAt, held, withdrawn })
}
