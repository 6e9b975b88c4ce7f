import { createSendCounter, type SendCounter, type Steer } from '../core/call.ts'
import { TriviumError, toTriviumError } from '../core/errors.ts'
import { type Json, pathGet } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Message } from '../core/message.ts'
import { concurrencyOf, type Route } from '../core/route.ts'
import type { BusyLane, ClaimedJob, Note, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { asideIn } from './aside.ts'
import { type Outbox, refuseApproval, type Sending, skillReply, waitForEnd } from './outbox.ts'
import { createPump, type Place } from './pump.ts'
import type { Router } from './router.ts'
import {
  attemptOf,
  createWorker,
  failedAttempt,
  isStoreAway,
  lastErrorOf,
  pauseOf,
  type RunOutcome,
  STORE_PAUSE,
} from './worker.ts'

export const DISPATCH_QUEUE = 'dispatch'

/** Beyond this many, some senders are notified again that they wait. */
const MOST_WAITING = 10_000

/** Input of a route's target (skill or queue job). `sends` numbers the replies of this attempt. */
export type Dispatch = {
  message: Message
  /** Messages merged into this call while the conversation was busy, oldest first. */
  collected: readonly Message[]
  /** For routes with `while-busy: steer`. */
  steer?: Steer
  route: Route
  attempt: number
  /** Neither a retry nor resumed after an approval. */
  isFirst: boolean
  /** The message is on no road: only listeners get it. */
  isAside: boolean
  sends: SendCounter
  signal: AbortSignal
}

/** The target of a route. Resolves with the result, from which the reply is made. */
export type Target = (dispatch: Dispatch) => Promise<unknown>

/** Durations in seconds. */
type DispatchMetrics = {
  dispatched(route: string, outcome: 'done' | 'retry' | 'dead' | 'unrouted', seconds: number): void
  latency(gateway: string, seconds: number): void
}

/** The dispatch road: runs the first matching route's target at least once per message, in order within a conversation, else in parallel. */
export function createDispatch(options: {
  store: Pick<Store, 'jobs' | 'journal' | 'onSignal'>
  concurrency: number
  router: Pick<Router, 'match' | 'routes'>
  /** Whether a job must wait because its target is paused. */
  isHeld?(job: ClaimedJob): boolean
  /** Whether a message must not be merged into another call, regardless of the route. */
  isAlone?(message: Message): boolean
  /** Whether a person waits for the listeners' reaction to a message. */
  isUrgent?(message: Message): boolean
  /** Runs the target of a route, a skill or a queue job. Must end soon after `signal` aborts. */
  invoke: Target
  unrouted?(message: Message): unknown
  /** Called for a message that is passed to a running model. */
  steered?(message: Message): unknown
  /** Called when a message needs no more attempts, to clean up after its invocations. */
  ended?(message: Message): void
  /** Called once the outcome of an attempt is stored; `isDone`: no more attempts. */
  settled?(message: Message, isDone: boolean): void
  outbox: Pick<Outbox, 'reply'>
  metrics: DispatchMetrics
  log: Log
  now(): number
}) {
  const { store, router, metrics, log, now } = options

  const done = new WeakSet<ClaimedJob>()
  /** Messages that wait for a budget, as far as this process knows. */
  const waiting = new Set<string>()
  const routing = perRoutes(router.routes)

  const run = async (claimed: ClaimedJob, signal: AbortSignal): Promise<RunOutcome> => {
    const aside = asideIn(claimed)
    const message = claimed.message ?? aside
    if (!message) throw new TriviumError('message_not_found', { id: claimed.messageId ?? claimed.id })
    const route = routing().byName.get(claimed.group) ?? router.match(message)
    // A queue job goes on if the waiting daemon dies, so that does not count as an attempt.
    const job = route?.queue === undefined ? claimed : { ...claimed, lost: 0 }
    // Messages for listeners only must not reach a skill, even if the routes changed.
    if (aside && route?.bolt === undefined) return { outcome: 'done' }
    if (!route) {
      await options.unrouted?.(message)
      const notes: Note[] = [{ at: now(), road: 'dispatch', what: 'unrouted' }]
      return { outcome: 'done', result: { outcome: 'unrouted', replies: 0 }, notes }
    }

    const told = job.id === message.id ? [] : await store.journal.history(message.id)
    if (wasDone(told)) return { outcome: 'done' }
    const collected = job.collected ?? (told.length === 0 ? [] : await mergedInto(told))
    const started = now()
    const attempt = attemptOf(job)
    const isFirst = attempt === 1 && job.id === message.id && !waiting.has(message.id)
    if (isFirst && !job.requeued) metrics.latency(message.gateway, (started - message.receivedAt) / 1000)
    const steer = route['while-busy'] === 'steer' ? steerOf(claimed, route.name, collected) : undefined
    const sends = createSendCounter()
    const dispatch: Dispatch = {
      message,
      collected,
      route,
      attempt,
      isFirst,
      isAside: aside !== undefined,
      sends,
      signal,
      ...defined({ steer }),
    }
    if (attempt > route.retry.attempts) return failed(job, dispatch, started, lastErrorOf(job))
    try {
      const reply = skillReply(await options.invoke(dispatch))
      const notes = reply ? await sendResult(dispatch, reply) : []
      options.ended?.(message)
      waiting.delete(message.id)
      done.add(claimed)
      metrics.dispatched(route.name, 'done', (now() - started) / 1000)
      notes.push(note('done', { route: route.name, attempt, ms: now() - started }))
      return job.notify
        ? { outcome: 'done', notes, result: { outcome: 'done', replies: dispatch.sends.count } }
        : { outcome: 'done', notes }
    } catch (error) {
      const thrown = thrownBy(error, signal)
      if (thrown instanceof TriviumError && thrown.code === 'approval_pending') {
        // Dispatched again after the decision; see `resumeDispatch`.
        log.info({ messageId: message.id, job: job.id }, thrown.message)
        // A caller who waits for replies gets the question.
        const result = { outcome: 'done', replies: sends.count + 1 }
        return { outcome: 'done', result, notes: [note(WAITS, { message: thrown.message })] }
      }
      if (isStoreAway(thrown)) {
        log.warn(
          { messageId: message.id, route: route.name, err: toTriviumError(thrown) },
          'it runs again once the store is back',
        )
        return { outcome: 'release', delay: STORE_PAUSE }
      }
      const delay = pauseOf(thrown, now())
      return delay === undefined
        ? failed(job, dispatch, started, thrown)
        : paused(dispatch, toTriviumError(thrown), delay)
    }
  }

  /** Keeps the place of the message and retries. Notifies the sender once, and adds to the history. */
  const paused = async (
    { message, route, attempt }: Dispatch,
    error: TriviumError,
    delay: number,
  ): Promise<RunOutcome> => {
    if (waiting.has(message.id)) return { outcome: 'release', delay }
    if (waiting.size >= MOST_WAITING) waiting.clear()
    waiting.add(message.id)
    if (route.reply !== 'none') {
      const text = `${error.message} Your message waits until then.`
      await options.outbox.reply(message, { key: `budget:${message.id}`, text, by: `route ${route.name}` })
    }
    log.warn({ messageId: message.id, route: route.name }, error.message)
    return {
      outcome: 'release',
      delay,
      notes: [note('waits for its budget', { attempt, error: error.message, delay })],
    }
  }

  /** Messages merged into a parked call; their own jobs have ended. */
  const mergedInto = async (history: readonly Note[]): Promise<Message[]> => {
    const told = history.filter(({ road, what }) => road === 'dispatch' && MERGES.includes(what))
    const ids = told.flatMap(({ detail }) => pathGet(detail, 'messages') ?? []).map(String)
    const found = await Promise.all(ids.map((id) => store.journal.get(id)))
    return found.filter((message) => message !== undefined)
  }

  /** Lets a running model take newly arrived messages, which then belong to this job in the store. */
  const steerOf = (job: ClaimedJob, group: string, messages: Message[]): Steer => ({
    messages,
    async listen() {
      const found = await store.jobs.follow(DISPATCH_QUEUE, { id: job.id, token: job.token, group })
      // A lost claim ends the attempt by itself.
      for (const message of found ?? []) {
        messages.push(message)
        await options.steered?.(message)
      }
    },
  })

  /** Sends the result. Resolves with notes about a reply that cannot be delivered, to be stored with the outcome. */
  const sendResult = async ({ message, route, sends }: Dispatch, reply: Omit<Sending, 'key'>) => {
    if (sends.count > 0 || route.reply === 'none') return []
    const unsent: Note[] = []
    refuseApproval(message.gateway, reply.data)
    const key = sendKey(message.id, route.name, sends.next())
    const sending = { ...reply, key, by: `route ${route.name}` }
    await options.outbox.reply(message, sending, (note) => unsent.push(note))
    return unsent
  }

  const failed = (job: ClaimedJob, dispatch: Dispatch, started: number, thrown: unknown): RunOutcome => {
    const { message, route, attempt } = dispatch
    const { retry, name } = route
    const longest = retry.backoff === 'fixed' ? retry.delay : retry.maxDelay
    const outcome = failedAttempt(job, thrown, { ...retry, first: retry.delay, longest }, now())
    const fields = { messageId: message.id, route: name, attempt, err: toTriviumError(thrown) }
    const ms = now() - started
    metrics.dispatched(name, outcome.outcome, ms / 1000)
    const { message: error, code } = outcome.error
    const detail = { route: name, attempt, error, code, ms }
    if (outcome.outcome === 'retry') {
      const { delay } = outcome
      log.warn({ ...fields, delay }, 'the attempt failed; the message will be dispatched again')
      return { ...outcome, notes: [note('failed', { ...detail, delay })] }
    }
    options.ended?.(message)
    log.error(fields, 'the message became a dead letter')
    return { ...outcome, notes: [note('dead', detail)] }
  }

  const note = (what: string, detail: Json): Note => ({ at: now(), road: 'dispatch', what, detail })

  const placeOf = ({ name, order }: Route, message: Message): Place => ({
    name,
    isUnordered: order === 'none' || (options.isUrgent?.(message) ?? false),
  })

  const pump = createPump({
    journal: store.journal,
    match(message) {
      const route = router.match(message)
      if (route?.bolt !== undefined) return placeOf(route, message)
      const merges = (route?.['while-busy'] ?? 'queue') !== 'queue' || route?.settle !== undefined
      // Like a resumed job it has no group, and its route is looked up again.
      return route && merges && options.isAlone?.(message) ? { name: '' } : route
    },
    unrouted(message) {
      metrics.dispatched('', 'unrouted', 0)
      void options.unrouted?.(message)
      log.debug({ messageId: message.id, gateway: message.gateway }, 'no route matches the message')
    },
  })
  const worker = createWorker({
    queue: DISPATCH_QUEUE,
    store,
    concurrency: options.concurrency,
    limits: () => routing().limits,
    unplaced: () => routing().unplaced,
    busy: () => routing().busy,
    refill: pump.add,
    run,
    ...defined({ isHeld: options.isHeld }),
    goesOn: (job) => routing().byName.get(job.group)?.queue !== undefined,
    settled: (job) => job.message && options.settled?.(job.message, done.has(job)),
    log,
    now,
  })
  let off = () => {}

  return {
    start() {
      off = store.onSignal('journal', () => {
        pump.look()
        worker.wakeToRefill()
      })
      worker.start()
    },
    async stop(grace: number) {
      off()
      await worker.stop(grace)
    },
    wake: worker.wake,
    cancel: worker.cancel,
    running: worker.running,
  }
}

/** The reason why an attempt ended: cancelled by an operator, or its own error. Throws after any other abort, which releases the job. */
function thrownBy(error: unknown, { aborted, reason }: AbortSignal): unknown {
  if (reason instanceof TriviumError && reason.code === 'run_cancelled') return reason
  if (aborted) throw error
  return error
}

const WAITS = 'waits for an approval'

/** With several approvals of one message, an earlier one may have completed it. */
function wasDone(history: readonly Note[]): boolean {
  const ends = ['done', 'dead', WAITS]
  return history.findLast(({ road, what }) => road === 'dispatch' && ends.includes(what))?.what === 'done'
}

/** History entries for messages merged into a call. */
const MERGES = ['collects', 'supersedes', 'is steered']

const MERGED_BY = { queue: undefined, steer: undefined, collect: 'collected', latest: 'superseded' } as const

/** Route lookups of the worker, recomputed only when the routes change. */
function perRoutes(routes: Router['routes']) {
  const read = (inForce: readonly Route[]) => ({
    inForce,
    byName: new Map(inForce.map((route) => [route.name, route])),
    limits: new Map(inForce.map((route) => [route.name, concurrencyOf(route)])),
    unplaced: new Set(inForce.flatMap(({ name, bolt }) => (bolt === undefined ? [] : name))),
    busy: busyLanes(inForce),
  })
  let last = read(routes())
  return () => {
    const inForce = routes()
    if (inForce !== last.inForce) last = read(inForce)
    return last
  }
}

function busyLanes(routes: readonly Route[]): Record<string, BusyLane> | undefined {
  const lanes = routes.flatMap(({ name, settle, 'while-busy': how = 'queue' }) => {
    const merge = MERGED_BY[how]
    return merge || settle ? [[name, defined({ merge, settle })] as const] : []
  })
  return lanes.length > 0 ? Object.fromEntries(lanes) : undefined
}

/** Dispatches a message again after the approval decision for its skill, once per `reason`. */
export async function resumeDispatch(
  store: Pick<Store, 'jobs'>,
  message: Pick<Message, 'id' | 'gateway' | 'conversation'>,
  reason: string,
): Promise<void> {
  const lane = `${message.gateway}/${message.conversation}`
  const job = { id: `${message.id}:${reason}`, lane, group: '', messageId: message.id }
  await store.jobs.add(DISPATCH_QUEUE, [job])
}

/** The idempotency key of a send: a retry produces the same keys in the same order. */
export function sendKey(messageId: string, route: string, ordinal: string): string {
  return `${messageId}:${route}:${ordinal}`
}

/** Like `waitForEnd`, for a message with `data.respond: 'result'`: the outcome and the number of replies. */
export async function waitUntilSettled(
  store: Pick<Store, 'jobs' | 'onSignal'>,
  messageId: string,
  timeout: number,
  signal?: AbortSignal,
): Promise<{ outcome: 'done' | 'failed' | 'unrouted'; replies: number } | undefined> {
  const end = await waitForEnd(store, DISPATCH_QUEUE, messageId, timeout, signal)
  if (end?.state === 'dead') return { outcome: 'failed', replies: 0 }
  const unrouted = pathGet(end?.result, 'outcome') === 'unrouted'
  const replies = Number(pathGet(end?.result, 'replies') ?? 0)
  return end && { outcome: unrouted ? 'unrouted' : 'done', replies }
}
