import { authorOf } from '../../core/author.ts'
import { type Call, requireGateway } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { resumedJobs } from '../../core/resumed-job.ts'
import type { Jobs, Journal } from '../../core/store.ts'
import { DISPATCH_QUEUE } from '../../engine/dispatch-queue.ts'
import { waitFor } from '../../lib/wait-for.ts'
import type { Pauses } from './pauses.ts'
import type { Cancel } from './records.ts'

/** Maximum wait (ms) for the end of the attempt, which may ignore its signal. */
const END_TIMEOUT = 15_000
const NO_REASON = 'an operator cancelled it'
/** Interval (ms) between reads of the outcome. */
const POLL_INTERVAL = 100

/**
 * `run-cancel`: the daemon with the running attempt aborts it. If that daemon is killed, another one
 * takes the message over, and cancels its attempt before it runs the skill. The next attempt on a
 * message in back-off becomes due, and ends the same way. A caller that disconnects changes none of
 * this. Throws `message_not_found`, `run_not_running`.
 */
export function createRunCancel(deps: {
  pauses: Pauses
  journal: Pick<Journal, 'get' | 'history' | 'outcomes'>
  jobs: Pick<Jobs, 'hasten' | 'deadLetters'>
  now(): number
}) {
  const { pauses, journal, jobs, now } = deps
  const outcomeOf = async (id: string) => (await journal.outcomes([id]))[0] ?? 'gone'
  // Keeps waiting when the caller is gone: if the entry in `cancels` were removed before a daemon
  // has seen it, it would cancel nothing.
  const waitForEnd = (id: string, open: readonly string[]) =>
    waitFor({
      attempt: async () => {
        const current = await outcomeOf(id)
        return open.includes(current) ? {} : { value: current }
      },
      watch(wake) {
        const timer = setInterval(wake, POLL_INTERVAL)
        return () => clearInterval(timer)
      },
      timeout: END_TIMEOUT,
    })

  const dispatchJobs = async (id: string) => [id, ...resumedJobs(id, await journal.history(id))]
  const dropLetter = async (id: string) => {
    for (const job of await dispatchJobs(id)) await jobs.deadLetters.drop(job, DISPATCH_QUEUE)
  }
  return async (
    { messageId, reason = NO_REASON, drop }: { messageId: string; reason?: string; drop: boolean },
    call: Call,
  ) => {
    const message = await journal.get(messageId)
    if (!message) throw new TriviumError('message_not_found', { id: messageId })
    requireGateway(call.caller, message.gateway)
    const outcome = await outcomeOf(messageId)
    const isGivenUp = outcome === 'retrying'
    if (outcome !== 'running' && !isGivenUp)
      throw new TriviumError('run_not_running', { id: messageId, outcome })
    const by = authorOf(call.caller)
    await pauses.change(({ cancels, ...state }) => {
      const others = cancels.filter((one) => one.messageId !== messageId)
      const cancel = { messageId, reason, by, at: now(), ...(isGivenUp && { isGivenUp }) }
      return { ...state, cancels: [...others, cancel] }
    })
    // A daemon that begins the attempt before it has read the request aborts it.
    if (isGivenUp) await jobs.hasten(DISPATCH_QUEUE, await dispatchJobs(messageId))
    const open = isGivenUp ? ['running', 'retrying'] : ['running']
    let finalOutcome: string | undefined
    try {
      finalOutcome = await waitForEnd(messageId, open)
    } finally {
      // After the timeout, the entry is removed too: the next attempt must not be cancelled. But the
      // attempt that was given up may still wait for a place on its route.
      if (!isGivenUp || finalOutcome !== undefined) await removeRequest(pauses, messageId)
    }
    // A cancelled attempt becomes a dead letter.
    const cancelled = finalOutcome === 'dead'
    if (cancelled && drop) await dropLetter(messageId)
    const ended = cancelled && drop ? await outcomeOf(messageId) : finalOutcome
    return { ok: true, messageId, cancelled, outcome: ended ?? outcome }
  }
}

/**
 * Called when an attempt was the last one of its message. If the message was given up, removes the
 * request, so that attempts after a retry of the dead letter run.
 */
export async function endGivenUp(pauses: Pauses, messageId: string, log: Log): Promise<void> {
  if (!pauses.view.cancelOf(messageId)?.isGivenUp) return
  try {
    await removeRequest(pauses, messageId)
  } catch (err) {
    log.warn({ messageId, err }, 'the request to give up a message was not removed')
  }
}

function removeRequest(pauses: Pauses, messageId: string): Promise<void> {
  const isOther = (one: Cancel) => one.messageId !== messageId
  return pauses.change((state) => ({ ...state, cancels: state.cancels.filter(isOther) }))
}
