import { MESSAGE_TOPIC } from '../../core/event.ts'
import { timeOf } from '../../core/message-id.ts'
import { defined } from '../../lib/defined.ts'
import type { Withdrawn } from './withdrawn-attempts.ts'

type Attempt = {
  subscription?: string
  at?: number
  since?: number
  attempt?: number
  status?: number
  reason?: string
  nextAt?: number
  isDead?: boolean
  deliveredAt?: number
  withdrawn?: Withdrawn
}
type Shown = {
  message?: { id: string }
  events: readonly { group: string; state: string }[]
  pushes: readonly Attempt[]
}

/**
 * Wraps `message-show`: the group of a push subscription gets the state of its delivery instead of
 * `read`, and in `push` its last attempt. A group reads an event before it is delivered. An event
 * that was delivered stays so when a later replay of it is cancelled. `isReplayed`: whether a replay
 * sends an event again; `after`: when the newest attempt began to wait (Unix ms).
 */
export function withDeliveries<Args extends unknown[], Result extends Shown>(
  show: (...args: Args) => Promise<Result>,
  isPush: (topic: string, group: string) => boolean,
  isReplayed: (group: string, id: string, after: number) => Promise<boolean> = async () => false,
) {
  return async (...args: Args): Promise<Result> => {
    const shown = await show(...args)
    const { id } = shown.message ?? {}
    const stateOf = async (one: Shown['events'][number]) => {
      if (!isPush(MESSAGE_TOPIC, one.group)) return one
      const own = shown.pushes.filter(({ subscription }) => subscription === one.group)
      const newest = own.at(-1)
      const last = newest?.withdrawn ? (own.findLast(isDelivered) ?? newest) : newest
      const state = last ? stateAfter(last) : one.state
      if (
        state === 'withdrawn' &&
        id !== undefined &&
        (await isReplayed(one.group, id, last?.since ?? timeOf(id)))
      )
        return { ...one, state: 'waiting', push: {} }
      return { ...one, state, push: last ? summaryOf(last) : {} }
    }
    return { ...shown, events: await Promise.all(shown.events.map(stateOf)) }
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
