import type { Call } from '../../core/call.ts'
import { timeOf } from '../../core/message-id.ts'
import { defined } from '../../lib/defined.ts'
import { type EndedPause, isSame, type Pause, type PauseState } from './records.ts'

/**
 * A time in which a person had a conversation. `at`, `until`, `endedAt`: Unix ms. `endedBy`: who
 * handed it back; absent if it ended by itself. Without `endedAt`, it goes on.
 */
export type Handover = {
  at: number
  by: string
  reason?: string
  until?: number
  endedAt?: number
  endedBy?: string
}

type Args = { gateway: string; conversation: string; before?: string }
/** `next`: the id of a message; older ones follow on the next page. */
type Shown = { next?: string | undefined }

/**
 * Returns a function that adds to `conversation-show` who had taken the conversation over in the time
 * of its entries (`handovers`, oldest first). Known for the last 30 days, up to 100 conversations.
 */
export function createWithHandovers(view: { state(): PauseState; list(): readonly Pause[] }) {
  return <A extends Args, Result extends Shown>(show: (args: A, call: Call) => Promise<Result>) =>
    async (args: A, call: Call) => {
      const shown = await show(args, call)
      const { gateway, conversation: name } = args
      const all = [...(view.state().ended ?? []), ...view.list()]
      const from = shown.next === undefined ? 0 : timeOf(shown.next)
      const to = args.before === undefined ? Number.POSITIVE_INFINITY : timeOf(args.before)
      const handovers = all
        .filter((pause) => isSame(pause, { kind: 'conversation', gateway, name }))
        .filter(({ since }) => since >= from && since < to)
        .map(handoverOf)
      return handovers.length === 0 ? shown : { ...shown, handovers }
    }
}

function handoverOf(pause: Pause | EndedPause): Handover {
  const { since, by, reason, until } = pause
  const end = 'endedAt' in pause ? { endedAt: pause.endedAt, endedBy: pause.endedBy } : {}
  return { at: since, by, ...defined({ reason, until, ...end }) }
}
