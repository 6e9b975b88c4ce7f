import { type Call, requireGateway } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import type { Journal } from '../../core/store.ts'
import { waitFor } from '../../lib/wait-for.ts'
import type { Pauses } from './pauses.ts'

/** How long (ms) an attempt may take to end, and the polling interval. */
const PATIENCE = 15_000
const LOOK_EVERY = 100

/**
 * `run-cancel`: the daemon with the running attempt aborts it. If that daemon was killed, its
 * successor ends the attempt before it starts.
 */
export function createRunCancel(deps: {
  pauses: Pauses
  journal: Pick<Journal, 'get' | 'outcomes'>
  now(): number
}) {
  const { pauses, journal, now } = deps
  const outcomeOf = async (id: string) => (await journal.outcomes([id]))[0] ?? 'gone'

  return async (
    { messageId, reason = 'an operator cancelled it' }: { messageId: string; reason?: string },
    call: Call,
  ) => {
    const message = await journal.get(messageId)
    if (!message) throw new TriviumError('message_not_found', { id: messageId })
    requireGateway(call.caller, message.gateway)
    const outcome = await outcomeOf(messageId)
    if (outcome !== 'running') throw new TriviumError('run_not_running', { id: messageId, outcome })
    const by = call.caller.id ?? call.caller.kind
    await pauses.change(({ cancels, ...state }) => {
      const others = cancels.filter((one) => one.messageId !== messageId)
      return { ...state, cancels: [...others, { messageId, reason, by, at: now() }] }
    })
    const ended = await waitFor({
      attempt: async () => {
        const now = await outcomeOf(messageId)
        return now === 'running' ? {} : { value: now }
      },
      watch(wake) {
        const timer = setInterval(wake, LOOK_EVERY)
        return () => clearInterval(timer)
      },
      timeout: PATIENCE,
      signal: call.signal,
    })
    // The attempt has ended or ignores its signal; the next one is not affected.
    await pauses.change((state) => ({
      ...state,
      cancels: state.cancels.filter((one) => one.messageId !== messageId),
    }))
    return { ok: true, messageId, cancelled: ended === 'dead', outcome: ended ?? 'running' }
  }
}
