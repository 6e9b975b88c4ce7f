import type { ApprovalService } from '../../core/approval.ts'
import { authorOf } from '../../core/author.ts'
import { type Call, requireGateway } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { resumedJobs } from '../../core/resumed-job.ts'
import type { Burial, Jobs, Journal, Note } from '../../core/store.ts'
import { DISPATCH_QUEUE } from '../../engine/dispatch-queue.ts'
import { waitFor } from '../../lib/wait-for.ts'
import { cancelError, type Pauses } from './pauses.ts'
import type { Cancel } from './records.ts'

/** Maximum wait (ms) for the end of the attempt, which may ignore its signal. */
const END_TIMEOUT = 15_000
const NO_REASON = 'an operator cancelled it'
/** Interval (ms) between reads of the outcome. */
const POLL_INTERVAL = 100

/** Outcomes of messages whose next attempt can be kept from running. */
const GIVEN_UP: readonly string[] = ['waiting', 'retrying', 'approval']

/**
 * `run-cancel`: the daemon with the running attempt aborts it. If that daemon is killed, another one
 * takes the message over, and cancels its attempt before it runs the skill. A message that waits
 * becomes a dead letter at its place. The next attempt on a message in back-off becomes due, and
 * ends the same way, and so does that after an approval, whose request is denied. The same holds if
 * the running attempt fails by itself before it is aborted. A caller that disconnects changes none of this. Throws `message_not_found`, `run_not_running`, and `forbidden` if
 * the caller may not decide the request.
 */
export function createRunCancel(deps: {
  pauses: Pauses
  journal: Pick<Journal, 'get' | 'history' | 'outcomes'>
  jobs: Pick<Jobs, 'bury' | 'hasten' | 'deadLetters'>
  requests: Pick<ApprovalService, 'list' | 'decide'>
  now(): number
}) {
  const { pauses, journal, jobs, now } = deps
  const outcomeOf = async (id: string) => (await journal.outcomes([id]))[0] ?? 'gone'
  const dispatchJobs = async (id: string) => [id, ...resumedJobs(id, await journal.history(id))]
  const dropLetter = async (id: string) => {
    for (const job of await dispatchJobs(id)) await jobs.deadLetters.drop(job, DISPATCH_QUEUE)
  }
  /** Ends a message that no daemon has claimed. Returns false if one has, or it has no job yet. */
  const buryWaiting = async (cancel: Cancel) => {
    const end = burialOf(cancel)
    for (const job of await dispatchJobs(cancel.messageId))
      if (await jobs.bury(DISPATCH_QUEUE, job, end)) return true
    return false
  }
  /** Requests the end of the next or running attempt, and waits for it. */
  const requestEnd = async (cancel: Cancel, outcome: string, call: Call) => {
    const { messageId, isGivenUp = false } = cancel
    await pauses.change(({ cancels, ...state }) => {
      const others = cancels.filter((one) => one.messageId !== messageId)
      return { ...state, cancels: [...others, cancel] }
    })
    let finalOutcome: string | undefined
    let isRequested = false
    try {
      if (outcome === 'approval') await denyRequests(deps.requests, cancel, call)
      isRequested = true
      // A daemon that begins the attempt before it has read the request aborts it.
      if (isGivenUp) await jobs.hasten(DISPATCH_QUEUE, await dispatchJobs(messageId))
      const open = isGivenUp ? ['running', ...GIVEN_UP] : ['running']
      finalOutcome = await waitForEnd(() => outcomeOf(messageId), open)
    } finally {
      // After the timeout, the entry is removed too: the next attempt must not be cancelled. But the
      // attempt that was given up may still wait for a place on its route.
      const stays = isGivenUp && isRequested && finalOutcome === undefined
      if (!stays) await removeRequest(pauses, messageId)
    }
    return finalOutcome
  }

  /** Ends the message, and returns its outcome; undefined after the timeout. */
  const end = async (cancel: Cancel, outcome: string, call: Call): Promise<string | undefined> => {
    const isGivenUp = GIVEN_UP.includes(outcome)
    const own: Cancel = isGivenUp ? { ...cancel, isGivenUp } : cancel
    if (outcome === 'waiting' && (await buryWaiting(own))) return 'dead'
    const ended = await requestEnd(own, outcome, call)
    // The attempt has failed by itself, and the message would be tried again.
    const isOpen = !isGivenUp && ended !== undefined && GIVEN_UP.includes(ended)
    return isOpen ? end(cancel, ended, call) : ended
  }

  return async (
    { messageId, reason = NO_REASON, drop }: { messageId: string; reason?: string; drop: boolean },
    call: Call,
  ) => {
    const message = await journal.get(messageId)
    if (!message) throw new TriviumError('message_not_found', { id: messageId })
    requireGateway(call.caller, message.gateway)
    const outcome = await outcomeOf(messageId)
    if (outcome !== 'running' && !GIVEN_UP.includes(outcome))
      throw new TriviumError('run_not_running', { id: messageId, outcome })
    const cancel: Cancel = { messageId, reason, by: authorOf(call.caller), at: now() }
    const finalOutcome = await end(cancel, outcome, call)
    // A cancelled attempt becomes a dead letter.
    const cancelled = finalOutcome === 'dead'
    if (cancelled && drop) await dropLetter(messageId)
    const ended = cancelled && drop ? await outcomeOf(messageId) : finalOutcome
    return { ok: true, messageId, cancelled, outcome: ended ?? outcome }
  }
}

/**
 * Waits until the outcome is not in `open`; undefined after the timeout. Keeps waiting when the
 * caller is gone: if the entry in `cancels` were removed before a daemon has seen it, it would
 * cancel nothing.
 */
function waitForEnd(outcomeOf: () => Promise<string>, open: readonly string[]) {
  return waitFor({
    attempt: async () => {
      const current = await outcomeOf()
      return open.includes(current) ? {} : { value: current }
    },
    watch(wake) {
      const timer = setInterval(wake, POLL_INTERVAL)
      return () => clearInterval(timer)
    },
    timeout: END_TIMEOUT,
  })
}

/** The dead letter of a message that did not run, and the entry in its history. */
function burialOf(cancel: Cancel): Burial {
  const { at } = cancel
  const { code, message } = cancelError(cancel)
  const notes: Note[] = [{ at, road: 'dispatch', what: 'dead', detail: { error: message, code } }]
  return { error: { at, code, message }, reason: 'permanent', notes }
}

/** Maximum number of pending requests that are searched for those of a message. */
const MAX_REQUESTS = 10_000

/** Denies the requests for approval of a message, which is then dispatched again. */
async function denyRequests(
  requests: Pick<ApprovalService, 'list' | 'decide'>,
  { messageId, reason }: Cancel,
  call: Call,
): Promise<void> {
  const pending = await requests.list({ status: 'pending', limit: MAX_REQUESTS })
  for (const { id } of pending.filter(({ message }) => message?.id === messageId))
    await requests.decide({ id, approve: false, reason }, call).catch((error: unknown) => {
      // Somebody has just decided: the attempt after that decision ends before it runs.
      if (!(error instanceof TriviumError && error.code === 'approval_decided')) throw error
    })
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
