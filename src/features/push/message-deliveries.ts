import { MESSAGE_TOPIC } from '../../core/event.ts'
import { defined } from '../../lib/defined.ts'

type Attempt = {
  subscription?: string
  at?: number
  attempt?: number
  status?: number
  reason?: string
  nextAt?: number
  isDead?: boolean
  deliveredAt?: number
}
type Shown = { events: readonly { group: string; state: string }[]; pushes: readonly Attempt[] }

/**
 * Wraps `message-show`: the group of a push subscription gets the state of its delivery instead of
 * `read`, and in `push` its last attempt. A group reads an event before it is delivered.
 */
export function withDeliveries<Args extends unknown[], Result extends Shown>(
  show: (...args: Args) => Promise<Result>,
  isPush: (topic: string, group: string) => boolean,
) {
  return async (...args: Args): Promise<Result> => {
    const shown = await show(...args)
    const events = shown.events.map((one) => {
      if (!isPush(MESSAGE_TOPIC, one.group)) return one
      const last = shown.pushes.findLast(({ subscription }) => subscription === one.group)
      return { ...one, state: last ? stateAfter(last) : one.state, push: last ? summaryOf(last) : {} }
    })
    return { ...shown, events }
  }
}

function stateAfter({ reason, isDead, deliveredAt }: Attempt): string {
  if (reason === undefined || deliveredAt !== undefined) return 'delivered'
  return isDead ? 'dead' : 'failed'
}

function summaryOf({ at, attempt, status, reason, nextAt }: Attempt) {
  return defined({ at, attempt, status, reason, nextAt })
}
