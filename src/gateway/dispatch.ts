import { TriviumError, toTriviumError } from '../core/errors.ts'
import type { Json } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Message } from '../core/message.ts'
import type { Route } from '../core/route.ts'
import { createSendCounter, type SendCounter } from '../core/skill.ts'
import type { ClaimedJob, Note, Store } from '../core/store.ts'
import { backoff } from '../lib/backoff.ts'
import type { Outbox } from './outbox.ts'
import { pumpOnce } from './pump.ts'
import type { Router } from './router.ts'
import { refuseApproval, skillReply } from './skill-reply.ts'
import { attemptError, createWorker, type RunOutcome, type Worker } from './worker.ts'

export const DISPATCH_QUEUE = 'dispatch'

/** What the invocation of a route's skill brings along; `sends` numbers the replies of this attempt. */
export type Dispatch = {
  message: Message
  route: Route
  attempt: number
  /** Neither a repeated attempt nor resumed after an approval. */
  isFirst: boolean
  sends: SendCounter
  signal: AbortSignal
}

/** What dispatch counts. Durations in seconds. */
export type DispatchMetrics = {
  dispatched(route: string, outcome: 'done' | 'retry' | 'dead' | 'unrouted', seconds: number): void
  latency(gateway: string, seconds: number): void
}

export type DispatchOptions = {
  store: Pick<Store, 'jobs' | 'journal' | 'onSignal'>
  owner: string
  concurrency: number
  /** The routes in force now: asked for each batch, so that a reload takes effect at once. */
  routes(): { router: Router; routes: readonly Route[] }
  /** Runs the skill of a route. Must end soon after `signal` aborts. */
  invoke(dispatch: Dispatch): Promise<unknown>
  /** Called when a message needs no more attempts, so that what its invocations left behind can go. */
  ended?(message: Message): void
  outbox: Pick<Outbox, 'reply'>
  metrics: DispatchMetrics
  log: Log
  now(): number
}

/** Milliseconds after which the lane of a dead daemon goes on elsewhere. */
const CLAIM_LEASE = 10_000
const PUMP_BATCH = 256

/**
 * The dispatch road: the first matching route's skill, once per message in the sense of at-least-once, first
 * in first out within a conversation, parallel across conversations.
 */
export function createDispatch(options: DispatchOptions): Worker {
  const { store, metrics, log, now } = options
  const matched = (message: Message) => options.routes().router.match(message)

  const run = async (job: ClaimedJob, signal: AbortSignal): Promise<RunOutcome> => {
    const message = job.message
    if (!message) return giveUp(new TriviumError('message_not_found', { id: job.messageId ?? job.id }))
    const route = options.routes().routes.find((one) => one.name === job.group) ?? matched(message)
    if (!route)
      return { outcome: 'done', result: { outcome: 'unrouted', replies: 0 }, notes: [note('unrouted')] }

    const started = now()
    const attempt = job.failures + job.lost + 1
    if (attempt === 1) metrics.latency(message.gateway, (started - message.receivedAt) / 1000)
    if (attempt > route.retry.attempts) {
      options.ended?.(message)
      metrics.dispatched(route.name, 'dead', 0)
      return giveUp(lastErrorOf(job))
    }
    const isFirst = attempt === 1 && job.id === message.id
    const dispatch: Dispatch = { message, route, attempt, isFirst, sends: createSendCounter(), signal }
    try {
      await sendResult(dispatch, await options.invoke(dispatch))
      options.ended?.(message)
      metrics.dispatched(route.name, 'done', (now() - started) / 1000)
      const notes = [note('done', { route: route.name, attempt, ms: now() - started })]
      return job.notify
        ? { outcome: 'done', notes, result: { outcome: 'done', replies: dispatch.sends.count } }
        : { outcome: 'done', notes }
    } catch (thrown) {
      if (signal.aborted) throw thrown
      if (thrown instanceof TriviumError && thrown.code === 'approval_pending') return parked(job, thrown)
      return failed(job, route, attempt, started, thrown)
    }
  }

  const sendResult = async ({ message, route, sends }: Dispatch, result: unknown) => {
    const reply = skillReply(result)
    if (!reply || sends.count > 0 || route.reply === 'none') return
    refuseApproval(message.gateway, reply.data)
    await options.outbox.reply(message, { ...reply, key: sendKey(message.id, route.name, sends.next()) })
  }

  /** The message is dispatched again once somebody has decided; see `resumeDispatch`. */
  const parked = (job: ClaimedJob, pending: TriviumError): RunOutcome => {
    log.info({ messageId: job.messageId, job: job.id }, pending.message)
    return { outcome: 'done', notes: [note('waits for an approval', { message: pending.message })] }
  }

  const failed = (
    job: ClaimedJob,
    route: Route,
    attempt: number,
    started: number,
    thrown: unknown,
  ): RunOutcome => {
    const error = attemptError(thrown, now())
    const permanent = thrown instanceof TriviumError && !thrown.retryable
    const dead = permanent || attempt >= route.retry.attempts
    const fields = { messageId: job.messageId, route: route.name, attempt, err: toTriviumError(thrown) }
    metrics.dispatched(route.name, dead ? 'dead' : 'retry', (now() - started) / 1000)
    const detail = { route: route.name, attempt, error: error.message }
    if (!dead) {
      const delay = backoff(attempt, pauses(route.retry))
      log.warn({ ...fields, delay }, 'the skill failed; the message will be dispatched again')
      return { outcome: 'retry', delay, error, notes: [note('failed', detail)] }
    }
    if (job.message) options.ended?.(job.message)
    log.error(fields, 'the message became a dead letter')
    return {
      outcome: 'dead',
      error,
      reason: permanent ? 'permanent' : 'attempts',
      notes: [note('dead', detail)],
    }
  }

  const giveUp = (thrown: Error): RunOutcome => {
    log.error({ err: thrown }, 'the message became a dead letter without another attempt')
    const error = attemptError(thrown, now())
    return { outcome: 'dead', error, reason: 'attempts', notes: [note('dead', { error: error.message })] }
  }

  const note = (what: string, detail?: Json): Note => ({
    at: now(),
    road: 'dispatch',
    what,
    ...(detail === undefined ? {} : { detail }),
  })

  const refill = async () => {
    const moved = await pumpOnce({
      journal: store.journal,
      match: matched,
      unrouted(message) {
        metrics.dispatched('', 'unrouted', 0)
        log.debug({ messageId: message.id, gateway: message.gateway }, 'no route matches the message')
      },
      max: PUMP_BATCH,
      now,
    })
    return moved !== 0
  }

  return createWorker({
    queue: DISPATCH_QUEUE,
    store,
    owner: options.owner,
    concurrency: options.concurrency,
    limits: () => new Map(options.routes().routes.map((route) => [route.name, route.concurrency])),
    lease: CLAIM_LEASE,
    run,
    refill,
    signals: ['journal'],
    log,
    now,
  })
}

/**
 * Dispatches a message once more after the decision that its skill waited for. Calling it again for the same
 * `reason` changes nothing.
 */
export async function resumeDispatch(
  store: Pick<Store, 'jobs'>,
  message: Pick<Message, 'id' | 'gateway' | 'conversation'>,
  reason: string,
): Promise<void> {
  const lane = `${message.gateway}/${message.conversation}`
  const job = { id: `${message.id}:${reason}`, lane, group: '', messageId: message.id }
  await store.jobs.add(DISPATCH_QUEUE, [job])
}

/** The idempotency key of a send: a repeated attempt makes the same keys in the same order. */
export function sendKey(messageId: string, route: string, ordinal: number): string {
  return `${messageId}:${route}:${ordinal}`
}

/** What to say of a job whose attempts are used up before this claim: its holder died each time. */
function lastErrorOf(job: ClaimedJob): Error {
  const last = job.errors.at(-1)
  if (last) return new Error(last.message)
  return new Error(`the process that ran it died ${job.lost} times`)
}

function pauses({ backoff, delay, maxDelay }: Route['retry']) {
  return { first: delay, longest: backoff === 'fixed' ? delay : maxDelay }
}
