import { z } from 'zod'
import { TriviumError } from '../../core/errors.ts'
import { type Event, MESSAGE_TOPIC } from '../../core/event.ts'
import type { Log } from '../../core/log.ts'
import { timeIn } from '../../core/message-id.ts'
import type { ClaimedJob, Store } from '../../core/store.ts'
import { attemptOf, failedAttempt, type RunOutcome } from '../../engine/attempts.ts'
import { createEventFilter } from '../../engine/event-filter.ts'
import { createWorker } from '../../engine/worker.ts'
import { createLoop, createWakeSignal } from '../../lib/loop.ts'
import { type AttemptOf, createAttempts } from './attempts.ts'
import { createCircuit, type Pause } from './circuit.ts'
import { createLanes, type Delivery } from './lanes.ts'
import { keepWith } from './listing.ts'
import { type Answer, createPoster } from './post.ts'
import { ACK_BATCH, ACK_INTERVAL, createReading } from './reading.ts'
import { type Control, queueOf, type Records, type Report } from './records.ts'
import type { PushSubscription } from './schema.ts'
import { createTraffic } from './traffic.ts'

export type SendingDeps = {
  store: Pick<Store, 'topics' | 'jobs' | 'journal' | 'onSignal' | 'stats'>
  /** Counts an attempt. `seconds`: its duration, if it succeeded. */
  pushed(subscription: string, outcome: 'sent' | 'retry' | 'dead', seconds?: number): void
  /** Runs work within the trace of an event, if tracing is on. */
  traced?: (<T>(name: string, event: Event, work: () => Promise<T>) => Promise<T>) | undefined
  /** Redacts secrets, and `more`, in a text. */
  clean(text: string, more?: readonly string[]): string
  log: Log
  now(): number
}

/** A subscription that is served from now on. */
export type Start = {
  subscription: PushSubscription
  control: Control
  /**
   * When the settings changed on this daemon (Unix ms); 0 if they did not. Failures from before the
   * change do not delay an event.
   */
  changedAt: number
  records: Records
}

const jobSchema = z.object({
  event: z.custom<Event>((value) => typeof Object(value).id === 'string'),
  /** Why the attempt before the job failed. It counts as the first attempt of the job. */
  failure: z.string().exactOptional(),
  /** When that attempt failed (Unix ms). */
  failedAt: z.number().default(0),
})

/** The next read starts when fewer unsent events than this, plus the concurrency, are in memory. */
const READ_BELOW = 128
/** Delay (ms) of a job while another event is probing the receiver. */
const PROBE_WAIT = 1_000

/**
 * POSTs the events of one subscription directly from its consumer group, in order per lane (see
 * `laneOf`). Events are acknowledged after a 2xx response. An event that fails becomes a job with
 * its own attempts. Later events of its lane become jobs too, until the last job of the lane has
 * ended. While the circuit is open, all other events stay in the group. Only one daemon reads the
 * group, and it peeks, so that no event is hidden after a crash. `control` is that of the start:
 * after a change of it, call `stop` and start again.
 */
export async function startSending(start: Start, deps: SendingDeps) {
  const { records } = start
  const { topic } = start.subscription
  const { store } = deps
  const parts = await makeParts(start, deps)
  const { state, reading, attempts, traffic, poster, failed } = parts
  const loop = createSendLoop(parts)
  parts.wake = loop.wake
  const worker = createJobWorker(parts)
  parts.wakeWorker = worker.wake

  await parts.checkForOlderJobs()
  const readMore = (partition?: number) => {
    reading.markReadable(partition)
    loop.wake()
  }
  const unsubscribes = [
    store.onSignal(`topic:${topic}`, readMore),
    store.onSignal(`kv:${records.key}`, () => readMore()),
  ]
  loop.start()
  worker.start()

  /**
   * Resolves when all attempts have ended; after `grace` ms they are aborted. Returns the rounds of
   * those that failed meanwhile.
   */
  const stop = async (grace: number): Promise<readonly number[]> => {
    state.isStopping = true
    for (const unsubscribe of unsubscribes) unsubscribe()
    const abort = setTimeout(poster.close, grace)
    await Promise.all([loop.stop(), worker.stop(grace)])
    state.drained.clear()
    if (state.inFlight > 0) await state.drained.sleep()
    clearTimeout(abort)
    const writes = [reading.ack(), attempts.report(), traffic.write()].map((each) => each.catch(failed))
    await Promise.all([...writes, poster.close()])
    return state.interrupted
  }
  return { stop, settledCount: reading.settledCount }
}

type Parts = Awaited<ReturnType<typeof makeParts>>

async function makeParts(start: Start, deps: SendingDeps) {
  const { subscription, control, records } = start
  const { name, topic, concurrency } = subscription
  const { store, now } = deps
  const queue = queueOf(name)
  const log = deps.log.child({ subscription: name })
  const failed = (err: unknown) => log.warn({ err }, 'the store is not responding; trying again')
  const { host } = new URL(subscription.url)
  const report = await records.report()
  const traffic = await createTraffic({ records, timeout: subscription.timeout, failed, now })
  const pause = pauseFrom(report, host, Math.max(control.resumedAt, start.changedAt))
  const circuit = createCircuit(concurrency, now, { failures: report.failures, pause })
  const lanes = createLanes(name, queue, now)
  const state = createState(concurrency)
  /**
   * While the receiver fails, events of lanes with unknown state do not become jobs. The exception
   * is one event per opening of the circuit: the receiver may reject only the older jobs.
   */
  const mayBecomeJob = (lane: string) => {
    if (circuit.isClosed()) return true
    if (circuit.isOpen() || state.probedAfter === circuit.openings() || lanes.isKnown(lane)) return false
    state.probedAfter = circuit.openings()
    return true
  }
  const wants = subscription.match && createEventFilter(subscription.match, store.journal)
  const of = { topics: store.topics, topic, group: name, control, records }
  const reading = createReading({ ...of, lanes, wants, mayBecomeJob, now })
  const checkForOlderJobs = async () => {
    const jobs = (await store.stats()).jobs.find((each) => each.queue === queue)
    if (!jobs || jobs.waiting + jobs.running === 0) lanes.ruleOutOlderJobs()
  }
  const parts = {
    ...start,
    deps,
    queue,
    log,
    circuit,
    lanes,
    state,
    reading,
    checkForOlderJobs,
    failed,
    traffic,
    poster: createPoster(subscription, deps),
    attempts: await createAttempts({
      records,
      circuit,
      host,
      failed,
      now,
      made: traffic.count,
      pushed: (seconds) => deps.pushed(name, 'sent', seconds),
      recovered() {
        reading.markReadable()
        parts.wake()
      },
      keep: topic === MESSAGE_TOPIC ? keepWith(store.journal, name, failed) : undefined,
      reported: async () => (lanes.mayHaveOlderJobs() ? checkForOlderJobs() : undefined),
    }),
    /** Set once the loop and the worker exist. */
    wake: () => {},
    wakeWorker: () => {},
    /** Maximum number of concurrent attempts at the moment. */
    capacity: () => (state.isStopping || state.isGone ? 0 : circuit.capacity()),
    /** Whether there is room for more events, and there may be some to read. */
    shouldRead: () => lanes.unsent() < READ_BELOW + concurrency && reading.hasMore(),
    post(event: Event, done: (answer: Answer) => void): void {
      const work = () => new Promise<Answer>((resolve) => parts.poster.post(event, resolve))
      if (deps.traced) void deps.traced(`push ${name}`, event, work).then(done)
      else parts.poster.post(event, done)
    },
    record(event: Event, of: AttemptOf, at: number, answer: Answer) {
      const result = parts.attempts.record(event, of, at, answer, state.isStopping)
      if (state.isStopping && result.reason !== undefined) state.interrupted.push(of.round ?? 0)
      state.isGone ||= result.isGone
      return result
    },
  }
  return parts
}

/**
 * The pause that the receiver asked for before this start. Undefined if it asked for none, or if
 * the subscription was resumed, changed or given another receiver after that.
 */
function pauseFrom({ retryAfter }: Report, host: string, changedAt: number): Pause | undefined {
  return retryAfter?.host === host && retryAfter.at >= changedAt ? retryAfter : undefined
}

function createState(concurrency: number) {
  const interrupted: number[] = []
  return {
    /** Number of running attempts. */
    inFlight: 0,
    isGone: false,
    isStopping: false,
    /** The rounds of attempts that failed during the stop. */
    interrupted,
    /**
     * The capacity that the loop last saw. The worker takes no job before the loop has seen the end
     * of a pause.
     */
    seenCapacity: concurrency,
    /** How often the circuit had opened when the loop last saw it. */
    seenOpenings: 0,
    /** The last opening after which an event of a lane with unknown state became a job. */
    probedAfter: -1,
    /** Rings when no attempt is running any more. */
    drained: createWakeSignal(),
  }
}

/** Sends ready events up to the concurrency limit. */
function sendMore(parts: Parts): void {
  while (parts.state.inFlight < parts.capacity()) {
    const next = parts.lanes.next()
    if (!next) return
    send(parts, next.lane, next.delivery)
  }
}

/** Makes the first attempt at an event. */
function send(parts: Parts, lane: string, delivery: Delivery): void {
  const { state, lanes, reading } = parts
  const { event, round } = delivery
  const at = parts.deps.now()
  state.inFlight++
  parts.post(event, (answer) => {
    const result = parts.record(event, { attempt: 1, round }, at, answer)
    state.inFlight--
    if (result.reason === undefined) reading.done(delivery)
    lanes.ended(lane, result)
    if (state.inFlight === 0) state.drained.wake()
    sendMore(parts)
    const isBatchFull = reading.doneCount() >= ACK_BATCH
    if (result.reason !== undefined || parts.shouldRead() || isBatchFull || state.inFlight === 0) parts.wake()
  })
}

/** Stores new jobs, reads more events, and acknowledges. */
function createSendLoop(parts: Parts) {
  const { state, lanes, reading, circuit, queue } = parts
  const { store } = parts.deps

  const storeJobs = async () => {
    const jobs = lanes.newJobs.map(({ job }) => job)
    if (jobs.length > 0) await store.jobs.add(queue, jobs)
    for (const delivery of lanes.newJobs.splice(0, jobs.length)) reading.done(delivery)
  }
  return createLoop({
    async step() {
      if (state.isGone) await disable(parts)
      await storeJobs()
      const capacity = parts.capacity()
      // A pause may have started and ended since the last step.
      if (state.seenCapacity !== capacity || state.seenOpenings !== circuit.openings()) {
        reading.markReadable()
        parts.wake()
        parts.wakeWorker()
      }
      state.seenCapacity = capacity
      state.seenOpenings = circuit.openings()
      const reads = capacity > 0 && parts.shouldRead()
      const acks = reading.isAckDue() || state.inFlight === 0
      // Concurrently: the store runs both in this order, with a single flush.
      const ends = await Promise.allSettled([acks && reading.ack(), reads && reading.read()])
      // Sends what was read, even if the acknowledgement failed.
      sendMore(parts)
      for (const end of ends) if (end.status === 'rejected') throw end.reason
      const pause = circuit.msUntilHalfOpen()
      // The last attempt may have ended meanwhile.
      const isIdle = state.inFlight === 0
      if (reads || state.seenCapacity !== parts.capacity() || (isIdle && reading.doneCount() > 0))
        return 'again'
      return isIdle ? (pause ?? reading.msUntilRetry()) : ACK_INTERVAL
    },
    failed(error) {
      reading.readAgain()
      parts.failed(error)
    },
  })
}

/**
 * Stops the subscription after a 410, by which a receiver of Standard Webhooks asks for no more
 * events. If the subscription was paused or resumed since the start, that counts instead: the
 * receiver is asked again afterwards.
 */
async function disable({ records, control, deps, state, log }: Parts): Promise<void> {
  let isDisabled = false
  await records.change((known) => {
    isDisabled = !known.stopped && known.resumedAt === control.resumedAt
    return isDisabled ? { ...known, stopped: { why: 'gone', by: 'the receiver', at: deps.now() } } : known
  })
  state.isStopping = true
  state.isGone = false
  if (!isDisabled) return
  log.error({}, 'the receiver is gone (410): nothing is pushed until the subscription is resumed')
}

/** Makes the worker that retries failed events, which are jobs. */
function createJobWorker(parts: Parts) {
  const { subscription, control, changedAt, deps, queue, log, state, lanes, circuit, reading } = parts
  const { name, concurrency, retry } = subscription
  const { store, now } = deps

  const failedJob = (job: ClaimedJob, event: string, reason: string): RunOutcome => {
    const error = new TriviumError('push_failed', { name, reason })
    const at = now()
    const outcome = failedAttempt(job, error, retry, at)
    const follows = outcome.outcome === 'retry' ? { nextAt: at + outcome.delay } : { isDead: true }
    parts.attempts.settled(event, timeIn(job.id), follows)
    deps.pushed(name, outcome.outcome)
    log[outcome.outcome === 'dead' ? 'error' : 'warn']({ job: job.id, err: error }, 'an event was not pushed')
    return outcome
  }
  return createWorker({
    queue,
    store,
    concurrency,
    limits: () => new Map([[name, Math.min(state.seenCapacity, parts.capacity())]]),
    retry,
    async run(job: ClaimedJob, signal: AbortSignal): Promise<RunOutcome> {
      const { event, failure, failedAt } = jobSchema.parse(job.data)
      const mayWait = failedAt >= Math.max(control.resumedAt, changedAt)
      if (failure !== undefined && attemptOf(job) === 1 && mayWait) return failedJob(job, event.id, failure)
      if (!circuit.isClosed() && state.inFlight > 0) return { outcome: 'release', delay: PROBE_WAIT }
      const at = now()
      state.inFlight++
      const answer = await new Promise<Answer>((resolve) => parts.post(event, resolve))
      const { reason, stays } = parts.record(
        event,
        { attempt: attemptOf(job), round: timeIn(job.id) },
        at,
        answer,
      )
      state.inFlight--
      sendMore(parts)
      if (reason === undefined) return { outcome: 'done' }
      return stays || signal.aborted ? { outcome: 'release' } : failedJob(job, event.id, reason)
    },
    settled({ lane, id }, { outcome }) {
      if (outcome === 'done' || outcome === 'dead') lanes.jobEnded(lane, id)
      reading.markReadable()
      parts.wake()
    },
    log,
    now,
  })
}
