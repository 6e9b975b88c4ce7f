import { createSendCounter } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import type { Message } from '../core/message.ts'
import type { Route } from '../core/route.ts'
import type { ClaimedJob, Note } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { asideIn } from './aside.ts'
import { attemptOf, lastErrorOf, type RunOutcome } from './attempts.ts'
import { createMerged } from './dispatch-merged.ts'
import type { Dispatch, DispatchOptions } from './dispatch-options.ts'
import { createOutcomes, wasDone } from './dispatch-outcomes.ts'
import { sendKey } from './dispatch-queue.ts'
import { transcribed } from './dispatch-transcripts.ts'
import { saidNoReply, unusableResult } from './no-reply.ts'
import { refuseApproval, type Sending, skillReply } from './outbox.ts'
import { returnedText } from './returned.ts'
import type { RouteTable } from './route-table.ts'
import { STORE_PAUSE } from './worker-settler.ts'

/** How long (ms) a voice message waits if its transcript matches a paused route. */
const HELD_PAUSE = 5_000

/** Runs the target of the route of a claimed job. */
export function createRun(options: DispatchOptions, routing: RouteTable) {
  const { store, router, metrics, voice, now } = options
  const outcomes = createOutcomes(options)
  const merged = createMerged(options)

  async function run(claimed: ClaimedJob, signal: AbortSignal): Promise<RunOutcome> {
    const aside = asideIn(claimed)
    const found = claimed.message ?? aside
    if (!found) throw new TriviumError('message_not_found', { id: claimed.messageId ?? claimed.id })
    const message = !aside && voice?.wants(found) ? await transcribed(found, voice, signal) : found
    if (!message) return { outcome: 'release', delay: STORE_PAUSE }
    const route = routing().byName.get(claimed.group) ?? router.match(message)
    // A voice message had no route when it was claimed, so the worker could not hold it for a
    // paused route.
    if (message !== found && route && options.isHeld?.({ ...claimed, group: route.name }))
      return { outcome: 'release', delay: HELD_PAUSE }
    // Messages for listeners only must not reach a skill, even if the routes changed.
    if (aside && route?.bolt === undefined) return { outcome: 'done' }
    if (!route) return unrouted(message)

    // Only a job after an approval has an id of its own; an earlier job may have completed the
    // message.
    const history = claimed.id === message.id ? [] : await store.journal.history(message.id)
    if (wasDone(history)) return { outcome: 'done' }
    // A queue job continues if the daemon that waits for it dies: no attempt has failed then.
    const job = route.queue === undefined ? claimed : { ...claimed, lost: 0 }
    const started = now()
    const collected = job.collected ?? (history.length === 0 ? [] : await merged.of(history))
    const dispatch = dispatchOf(job, message, route, collected, signal)
    if (dispatch.isFirst && !job.requeued) {
      const held = options.heldFor?.({ ...job, group: route.name }, message.receivedAt, started) ?? 0
      metrics.latency(message.gateway, Math.max(0, started - message.receivedAt - held) / 1000)
    }
    if (dispatch.attempt > route.retry.attempts)
      return outcomes.failed(job, dispatch, started, lastErrorOf(job))
    try {
      const handled = options.handled?.(dispatch)
      if (handled) return outcomes.done(job, dispatch, started, { handled })
      const result = await options.invoke(dispatch)
      return {
        ...outcomes.done(job, dispatch, started, await endedWith(result, dispatch, options)),
        ran: true,
      }
    } catch (error) {
      return outcomes.thrown(job, dispatch, started, reasonOrRethrow(error, signal))
    }
  }

  async function unrouted(message: Message): Promise<RunOutcome> {
    await options.unrouted?.([message])
    const notes: Note[] = [{ at: now(), road: 'dispatch', what: 'unrouted' }]
    return { outcome: 'done', result: { outcome: 'unrouted', replies: 0 }, notes }
  }

  function dispatchOf(
    job: ClaimedJob,
    message: Message,
    route: Route,
    collected: Message[],
    signal: AbortSignal,
  ): Dispatch {
    const attempt = attemptOf(job)
    const dispatch: Dispatch = {
      message,
      collected,
      route,
      attempt,
      isFirst: attempt === 1 && job.id === message.id && !outcomes.isWaiting(message.id),
      isAside: asideIn(job) !== undefined,
      sends: createSendCounter(),
      signal,
    }
    if (route['while-busy'] === 'steer') dispatch.steer = merged.steer(job, route.name, collected)
    return dispatch
  }

  return run
}

/**
 * Why an attempt failed: its own error, or that an operator cancelled it. Rethrows after any other
 * abort.
 */
function reasonOrRethrow(error: unknown, { aborted, reason }: AbortSignal): unknown {
  if (reason instanceof TriviumError && reason.code === 'run_cancelled') return reason
  // The daemon is stopping, or the lease was lost: the worker releases the job.
  if (aborted) throw error
  return error
}

/** Sends the result of a target if it is the reply; otherwise the history has it. */
async function endedWith(
  result: unknown,
  dispatch: Dispatch,
  { outbox, clean, now }: Pick<DispatchOptions, 'outbox' | 'clean' | 'now'>,
) {
  const reply = skillReply(result)
  if (reply && isDue(dispatch)) return { notes: await sendResult(outbox, dispatch, reply) }
  const noReply = reply ? undefined : whyNoReply(result, dispatch)
  return { notes: noteOf(noReply, now()), ...defined({ noReply, returned: returnedText(result, clean) }) }
}

/** Why no reply is sent: the result gives a reason, or has no usable form where a reply is due. */
function whyNoReply(result: unknown, dispatch: Dispatch): string | undefined {
  return saidNoReply(result) ?? (isDue(dispatch) ? unusableResult(result) : undefined)
}

/** Whether the result of a target is its reply: the route wants one, and it sent none itself. */
function isDue({ route, sends }: Dispatch): boolean {
  return sends.count === 0 && route.reply !== 'none'
}

function noteOf(reason: string | undefined, at: number): Note[] {
  return reason === undefined ? [] : [{ at, road: 'dispatch', what: 'no reply', detail: { reason } }]
}

/**
 * Sends the result. Resolves with notes about a reply that cannot be delivered, to be stored with
 * the outcome.
 */
async function sendResult(
  outbox: DispatchOptions['outbox'],
  { message, route, sends }: Dispatch,
  reply: Omit<Sending, 'key'>,
): Promise<Note[]> {
  const unsent: Note[] = []
  refuseApproval(message.gateway, reply.data)
  const key = sendKey(message.id, route.name, sends.next())
  const sending = { ...reply, key, by: `route ${route.name}` }
  await outbox.reply(message, sending, (note) => unsent.push(note))
  return unsent
}
