import { MESSAGE_TOPIC } from '../../core/event.ts'
import { defined } from '../../lib/defined.ts'
import type { Withdrawn } from './withdrawn-attempts.ts'

type Attempt = {
  subscription?: string
  at?: number
  attempt?: number
  status?: number
  reason?: string
  nextAt?: number
  isDead?: boolean
  deliveredAt?: number
  withdrawn?: Withdrawn
}
type Shown = { events: readonly { group: string; state: string }[]; pushes: readonly Attempt[] }

/**
 * Wraps `message-show`: the group of a push subscription gets the state of its delivery instead of
 * `read`, and in `push` its last attempt. A group reads an event before it is delivered. An event
 * that was delivered stays so when a later replay of it is cancelled.
 */
export function withDeliveries<Args extends unknown[], Result extends Shown>(
  show: (...args: Args) => Promise<Result>,
  isPush: (topic: string, group: string) => boolean,
) {
  return async (...args: Args): Promise<Result> => {
    const shown = await show(...args)
    const events = shown.events.map((one) => {
      if (!isPush(MESSAGE_TOPIC, one.group)) return one
      const own = shown.pushes.filter(({ subscription }) => subscription === one.group)
      const newest = own.at(-1)
      const last = newest?.withdrawn ? (own.findLast(isDelivered) ?? newest) : newest
      return { ...one, state: last ? stateAfter(last) : one.state, push: last ? summaryOf(last) : {} }
    })
    return { ...shown, events }
  }
}

function isDelivered({ reason, deliveredAt }: Attempt): boolean {
  return reason === undefined || deliveredAt !== undefined
}

function stateAfter(attempt: Attempt): string {
  const { isDead, withdrawn } = attempt
  if (isDelivered(attempt)) return 'delivered'
  if (withdrawn) return 'withdrawn'
  return isDead ? 'dead' : 'failed'
}

function summaryOf({ at, attempt, status, reason, nextAt, withdrawn }: Attempt) {
  return defined({ at, attempt, status, reason, nextAt, withdrawn })
}
