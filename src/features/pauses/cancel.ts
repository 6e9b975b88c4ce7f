import { authorOf } from '../../core/author.ts'
import { type Call, requireGateway } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import type { Journal } from '../../core/store.ts'
import { waitFor } from '../../lib/wait-for.ts'
import type { Pauses } from './pauses.ts'

/** Maximum wait (ms) for the end of the attempt, which may ignore its signal. */
const END_TIMEOUT = 15_000
/** Interval (ms) between reads of the outcome. */
const POLL_INTERVAL = 100

/**
 * `run-cancel`: the daemon with the running attempt aborts it. If that daemon is killed, another one
 * takes the message over, and cancels its attempt before it runs the skill. A caller that
 * disconnects changes none of this. Throws `message_not_found`, `run_not_running`.
 */
export function createRunCancel(deps: {
  pauses: Pauses
  journal: Pick<Journal, 'get' | 'outcomes'>
  now(): number
}) {
  const { pauses, journal, now } = deps
  const outcomeOf = async (id: string) => (await journal.outcomes([id]))[0] ?? 'gone'
  // Keeps waiting when the caller is gone: if the entry in `cancels` were removed before a daemon
  // has seen it, it would cancel nothing.
  const waitForEnd = (id: string) =>
    waitFor({
      attempt: async () => {
        const current = await outcomeOf(id)
        return current === 'running' ? {} : { value: current }
      },
      watch(wake) {
        const timer = setInterval(wake, POLL_INTERVAL)
        return () => clearInterval(timer)
      },
      timeout: END_TIMEOUT,
    })

  return async (
    { messageId, reason = 'an operator cancelled it' }: { messageId: string; reason?: string },
    call: Call,
  ) => {
    const message = await journal.get(messageId)
    if (!message) throw new TriviumError('message_not_found', { id: messageId })
    requireGateway(call.caller, message.gateway)
    const outcome = await outcomeOf(messageId)
    if (outcome !== 'running') throw new TriviumError('run_not_running', { id: messageId, outcome })
    const by = authorOf(call.caller)
    await pauses.change(({ cancels, ...state }) => {
      const others = cancels.filter((one) => one.messageId !== messageId)
      return { ...state, cancels: [...others, { messageId, reason, by, at: now() }] }
    })
    // After the timeout, the entry is removed too: the next attempt must not be cancelled.
    const finalOutcome = await waitForEnd(messageId).finally(() =>
      pauses.change((state) => ({
        ...state,
        cancels: state.cancels.filter((one) => one.messageId !== messageId),
      })),
    )
    // A cancelled attempt becomes a dead letter.
    return { ok: true, messageId, cancelled: finalOutcome === 'dead', outcome: finalOutcome ?? 'running' }
  }
}
