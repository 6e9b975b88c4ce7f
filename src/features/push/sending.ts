import { z } from 'zod'
import type { PushSubscription } from '../../config/schema/push.ts'
import { TriviumError } from '../../core/errors.ts'
import type { Event } from '../../core/event.ts'
import type { Log } from '../../core/log.ts'
import type { ClaimedJob, Store } from '../../core/store.ts'
import { attemptOf, failedAttempt, type RunOutcome } from '../../engine/attempts.ts'
import { createEventFilter } from '../../engine/event-filter.ts'
import { createWorker } from '../../engine/worker.ts'
import { createBell, createLoop } from '../../lib/loop.ts'
import { createAttempts } from './attempts.ts'
import { createCircuit } from './circuit.ts'
import { createLanes } from './lanes.ts'
import { type Answer, createPoster } from './post.ts'
import { ACK, createReading } from './reading.ts'
import { type Control, queueOf, type Records } from './records.ts'

export type SendingDeps = {
  store: Pick<Store, 'topics' | 'jobs' | 'journal' | 'onSignal' | 'stats'>
  /** Counts an attempt; `seconds`: duration of a successful one. */
  pushed(subscription: string, outcome: 'sent' | 'retry' | 'dead', seconds?: number): void
  /** Runs work within the trace of an event, if tracing is on. */
  traced?: (<T>(name: string, event: Event, work: () => Promise<T>) => Promise<T>) | undefined
  log: Log
  now(): number
}

const jobSchema = z.object({
  event: z.custom<Event>((value) => typeof Object(value).id === 'string'),
  /** Why it was not pushed immediately. */
  failure: z.string().exactOptional(),
})

/** The next read starts when fewer events than this are in memory. */
const READ_BELOW = 128
/** Delay (ms) of a job while another event is probing the receiver. */
const LOOK_AGAIN = 1_000

/**
 * POSTs the events of one subscription directly from its consumer group, in order per lane
 * (conversation; events without one share a lane). Events are acknowledged after a 2xx response. An
 * event that fails becomes a job with its own attempts, and so do later events of its lane until
 * its last job has ended. While the circuit is open, all other events stay in the group. Only one
 * daemon reads the group, and it peeks, so that no event is hidden after a crash. Serves one
 * `control`: after a change, call `stop` and start again.
 */
export async function startSending(
  subscription: PushSubscription,
  control: Control,
  records: Records,
  deps: SendingDeps,
) {
  const { topic } = subscription
  const { store } = deps
  const parts = await makeParts(subscription, control, records, deps)
  const { state, reading, attempts, poster, failed } = parts
  const loop = createSendLoop(parts)
  parts.wake = loop.wake
  const worker = createJobWorker(parts)
  parts.wakeWorker = worker.wake

  await parts.lookForJobs()
  const look = (at?: number) => {
    reading.look(at)
    loop.wake()
  }
  const offs = [store.onSignal(`topic:${topic}`, look), store.onSignal(`kv:${records.key}`, () => look())]
  loop.start()
  worker.start()

  /** Running attempts get `grace` ms. */
  const stop = async (grace: number): Promise<void> => {
    state.isStopping = true
    for (const off of offs) off()
    const cut = setTimeout(poster.close, grace)
    await Promise.all([loop.stop(), worker.stop(grace)])
    state.drained.clear()
    if (state.underWay > 0) await state.drained.sleep()
    clearTimeout(cut)
    await Promise.all([reading.ack().catch(failed), attempts.report().catch(failed), poster.close()])
  }
  return { stop, settledCount: reading.settledCount }
}

type Parts = Awaited<ReturnType<typeof makeParts>>

async function makeParts(
  subscription: PushSubscription,
  control: Control,
  records: Records,
  deps: SendingDeps,
) {
  const { name, topic, concurrency } = subscription
  const { store, now } = deps
  const queue = queueOf(name)
  const log = deps.log.child({ subscription: name })
  const circuit = createCircuit(concurrency, now)
  const lanes = createLanes(name, queue, control.replay?.number)
  const state = {
    underWay: 0,
    isGone: false,
    isStopping: false,
    /**
     * Concurrency limit as the loop last saw it. The worker takes no job before the loop has seen
     * the end of a pause.
     */
    told: concurrency,
    /**
     * Number of pauses of the receiver that the loop has seen, and the last one after which an
     * event of an unknown lane became a job.
     */
    rests: 0,
    triedAfter: 0,
    drained: createBell(),
  }
  /**
   * While the receiver fails, events of lanes with unknown state do not become jobs, except one per
   * pause, because older jobs may be the only ones that it rejects.
   */
  const mayLeave = (lane: string) => {
    if (circuit.isClosed()) return true
    if (circuit.isOpen() || state.triedAfter === circuit.rests() || lanes.isKnown(lane)) return false
    state.triedAfter = circuit.rests()
    return true
  }
  const wants = subscription.match && createEventFilter(subscription.match, store.journal)
  const { topics } = store
  const reading = createReading({ topics, topic, group: name, control, records, lanes, wants, mayLeave, now })
  const lookForJobs = async () => {
    const jobs = (await store.stats()).jobs.find((each) => each.queue === queue)
    if (!jobs || jobs.waiting + jobs.running === 0) lanes.hasNoOthers()
  }
  const failed = (err: unknown) => log.warn({ err }, 'the store is not responding; trying again')
  const parts = {
    ...{ subscription, records, deps, queue, log, circuit, lanes, state, reading, lookForJobs, failed },
    poster: createPoster(subscription, now),
    attempts: await createAttempts({
      ...{ records, circuit, failed, now },
      pushed: (seconds) => deps.pushed(name, 'sent', seconds),
      recovered() {
        reading.look()
        parts.wake()
      },
      reported: async () => (lanes.mayHaveOthers() ? lookForJobs() : undefined),
    }),
    /** Set once the loop and the worker exist. */
    wake: () => {},
    wakeWorker: () => {},
    room: () => (state.isStopping || state.isGone ? 0 : circuit.room()),
    isLow: () => lanes.ahead() < READ_BELOW + concurrency && reading.hasMore(),
    post(event: Event, done: (answer: Answer) => void): void {
      const work = () => new Promise<Answer>((resolve) => parts.poster.post(event, resolve))
      if (deps.traced) void deps.traced(`push ${name}`, event, work).then(done)
      else parts.poster.post(event, done)
    },
    note(event: Event, number: number, at: number, answer: Answer) {
      const noted = parts.attempts.note(event, number, at, answer, state.isStopping)
      state.isGone ||= noted.isGone
      return noted
    },
  }
  return parts
}

/** Sends ready events up to the concurrency limit. */
function sendMore(parts: Parts): void {
  while (parts.state.underWay < parts.room()) {
    const next = parts.lanes.next()
    if (!next) return
    send(parts, next.lane, next.event)
  }
}

function send(parts: Parts, lane: string, event: Event): void {
  const { state, lanes, reading } = parts
  const at = parts.deps.now()
  state.underWay++
  parts.post(event, (answer) => {
    const noted = parts.note(event, 1, at, answer)
    state.underWay--
    if (noted.reason === undefined) reading.done(event)
    lanes.ended(lane, noted)
    if (state.underWay === 0) state.drained.ring()
    sendMore(parts)
    const isMuch = reading.doneCount() >= ACK.most
    if (noted.reason !== undefined || parts.isLow() || isMuch || state.underWay === 0) parts.wake()
  })
}

/** Stores new jobs, reads ahead, and acknowledges. */
function createSendLoop(parts: Parts) {
  const { state, lanes, reading, circuit, queue } = parts
  const { store } = parts.deps

  const storeJobs = async () => {
    const jobs = [...lanes.leaving]
    if (jobs.length > 0) await store.jobs.add(queue, jobs)
    for (const { data } of lanes.leaving.splice(0, jobs.length)) reading.done(data.event)
  }
  return createLoop({
    async step() {
      if (state.isGone) await disable(parts)
      await storeJobs()
      const places = parts.room()
      // A pause may have started and ended since the last step.
      if (state.told !== places || state.rests !== circuit.rests()) {
        reading.look()
        parts.wake()
        parts.wakeWorker()
      }
      state.told = places
      state.rests = circuit.rests()
      const isRead = state.told > 0 && parts.isLow()
      const isDue = reading.isAckDue() || state.underWay === 0
      // Concurrently: the store runs them in this order, with a single flush. Both end before the
      // next step.
      const ends = await Promise.allSettled([isDue && reading.ack(), isRead && reading.read()])
      // What was read is sent even if nothing can be acknowledged.
      sendMore(parts)
      for (const end of ends) if (end.status === 'rejected') throw end.reason
      const rest = circuit.restsFor()
      // It may have become idle meanwhile.
      const isIdle = state.underWay === 0
      if (isRead || state.told !== parts.room() || (isIdle && reading.doneCount() > 0)) return 'again'
      return isIdle ? (rest ?? reading.restsFor()) : ACK.after
    },
    failed(error) {
      reading.again()
      parts.failed(error)
    },
  })
}

/** Standard Webhooks: 410 means that the receiver wants no more events. */
async function disable({ records, state, log }: Parts): Promise<void> {
  await records.change((known) => ({ ...known, stopped: { why: 'gone', by: 'the receiver' } }))
  state.isStopping = true
  state.isGone = false
  log.error({}, 'the receiver is gone (410): nothing is pushed until the subscription is resumed')
}

/** Makes the worker that retries failed events, which are jobs. */
function createJobWorker(parts: Parts) {
  const { subscription, deps, queue, log, state, lanes, circuit, reading } = parts
  const { name, concurrency, retry } = subscription
  const { store, now } = deps

  const failedJob = (job: ClaimedJob, reason: string): RunOutcome => {
    const error = new TriviumError('push_failed', { name, reason })
    const outcome = failedAttempt(job, error, retry, now())
    deps.pushed(name, outcome.outcome)
    log[outcome.outcome === 'dead' ? 'error' : 'warn']({ job: job.id, err: error }, 'an event was not pushed')
    return outcome
  }
  return createWorker({
    queue,
    store,
    concurrency,
    limits: () => new Map([[name, Math.min(state.told, parts.room())]]),
    retry,
    async run(job: ClaimedJob, signal: AbortSignal): Promise<RunOutcome> {
      const { event, failure } = jobSchema.parse(job.data)
      if (failure !== undefined && attemptOf(job) === 1) return failedJob(job, failure)
      if (!circuit.isClosed() && state.underWay > 0) return { outcome: 'release', delay: LOOK_AGAIN }
      const at = now()
      state.underWay++
      const answer = await new Promise<Answer>((resolve) => parts.post(event, resolve))
      const { reason, stays } = parts.note(event, attemptOf(job), at, answer)
      state.underWay--
      sendMore(parts)
      if (reason === undefined) return { outcome: 'done' }
      return stays || signal.aborted ? { outcome: 'release' } : failedJob(job, reason)
    },
    settled({ lane, id }, outcome) {
      if (outcome === 'done' || outcome === 'dead') lanes.jobEnded(lane, id)
      reading.look()
      parts.wake()
    },
    log,
    now,
  })
}
