import { hash } from 'node:crypto'
import { z } from 'zod'
import { TriviumError } from '../../core/errors.ts'
import type { Event } from '../../core/event.ts'
import type { Log } from '../../core/log.ts'
import { missedIn } from '../../core/message-id.ts'
import type { PushSubscription } from '../../core/push.ts'
import type { ClaimedJob, NewJob, Store } from '../../core/store.ts'
import { createLoop } from '../../lib/loop.ts'
import { attemptOf, createWorker, failedAttempt, type RunOutcome } from '../worker.ts'
import { createCircuit } from './circuit.ts'
import { createFeed, queueOf } from './feed.ts'
import { createLanes, type Lane, laneOf } from './lanes.ts'
import { createPoster } from './post.ts'
import type { Records } from './records.ts'

export type SendingDeps = {
  store: Pick<Store, 'topics' | 'jobs' | 'journal' | 'onSignal' | 'stats'>
  /** Counts an attempt. */
  pushed(subscription: string, outcome: 'sent' | 'retry' | 'dead'): void
  log: Log
  now(): number
}

const jobSchema = z.object({
  event: z.custom<Event>((value) => typeof Object(value).id === 'string'),
  /** Why it was not pushed at once. */
  failure: z.string().exactOptional(),
})
/** Events from one read, and below how many that wait in memory more are read. */
const READ = { most: 500, below: 128 }
/** Acknowledged together: so many, or what there is after so many ms. */
const ACK = { most: 128, after: 20 }
/** Attempts that are shown, and how often (ms) they are written at most. */
const SHOWN = 50
const REPORT_EVERY = 500
/** Ms. */
const STORE_PAUSE = 500
const LOOK_AGAIN = 3_600_000

/**
 * POSTs the events of one subscription, in order within a conversation: at first straight from the group, where they are
 * acknowledged once they are answered with 2xx. One that fails becomes a job, which is tried until its attempts are used up,
 * and what comes behind it in its conversation becomes jobs behind it. While the receiver is left alone all stay in the group.
 */
export async function startSending(subscription: PushSubscription, records: Records, deps: SendingDeps) {
  const { name, topic, concurrency, retry } = subscription
  const { store, now } = deps
  const queue = queueOf(name)
  const log = deps.log.child({ subscription: name })
  const feed = createFeed(subscription, store, now)
  const poster = createPoster(subscription, now)
  const noJobs = async () => {
    const jobs = (await store.stats()).jobs.find((each) => each.queue === queue)
    return !jobs || jobs.waiting + jobs.running === 0
  }
  const lanes = createLanes(await noJobs())
  let control = await records.control()
  const { attempts, mark: markBefore, ...before } = await records.report()
  const mark = hash('sha256', JSON.stringify(subscription))
  // Whoever changes a subscription, such as its `url`, wants to see it tried.
  let circuit = createCircuit(concurrency, now, mark === markBefore ? before : undefined)
  /** Events that need nothing more but to be acknowledged. */
  const done: string[] = []
  const underWay = { events: 0, jobs: 0 }
  /** The group may have more than was read. */
  let hasMore = true
  let isStopping = false
  let ended = () => {}
  let reporting: NodeJS.Timeout | undefined
  let acking: NodeJS.Timeout | undefined
  let probing: NodeJS.Timeout | undefined
  const failed = (err: unknown) => log.warn({ err }, 'the store does not answer; trying again')

  const wake = () => {
    worker.wake()
    loop.wake()
  }
  const report = async () => {
    clearTimeout(reporting)
    reporting = undefined
    await records.tell({ attempts, mark, ...circuit.state() })
    if (!lanes.knowsAll() && (await noJobs())) lanes.learnedAll()
  }
  const probeLater = () => {
    clearTimeout(probing)
    probing = setTimeout(wake, Math.max(0, circuit.state().openUntil - now()))
  }

  /** `stays`: that it failed says nothing of the event, which keeps its place. */
  const attempt = async (event: Event, number: number) => {
    const at = now()
    const { retryAt = 0, ...said } = await poster.post(event)
    const { reason, status } = said
    if (isStopping && poster.isClosed()) return { reason, stays: true }
    attempts.unshift({ at, event: event.id, attempt: number, ms: now() - at, ...said })
    if (attempts.length > SHOWN) attempts.pop()
    reporting ??= setTimeout(() => void report().catch(failed), REPORT_EVERY)
    const wasClosed = circuit.isClosed()
    if (reason === undefined) {
      circuit.succeeded()
      if (!wasClosed) wake()
      deps.pushed(name, 'sent')
      return { reason, stays: false }
    }
    const stays = status === 410 || circuit.isOpen()
    circuit.failed(retryAt)
    probeLater()
    if (status === 410) await disable()
    return { reason, stays }
  }

  /** Standard Webhooks: who answers 410 wants nothing more. */
  const disable = async () => {
    log.error(
      {},
      'the receiver is gone (410): nothing is pushed to it until somebody resumes the subscription',
    )
    const stopped = { why: 'gone', by: 'the receiver' } as const
    control = { ...control, stopped }
    await records.change((known) => ({ ...known, stopped })).catch(failed)
  }

  const send = async (lane: Lane, event: Event) => {
    underWay.events++
    const { reason, stays } = await attempt(event, 1)
    underWay.events--
    if (reason === undefined) done.push(event.id)
    lanes.ended(lane, reason === undefined || (stays || isStopping ? false : reason))
    if (underWay.events === 0) ended()
    sendMore()
    if (reason !== undefined || done.length >= ACK.most) loop.wake()
    else acking ??= setTimeout(loop.wake, ACK.after)
  }

  const sendMore = () => {
    if (isStopping || control.stopped) return
    while (underWay.events + underWay.jobs < circuit.room()) {
      const lane = lanes.next()
      const [event] = lane?.events ?? []
      if (!lane || !event) return
      void send(lane, event)
    }
  }

  const readControl = async () => {
    const next = await records.control()
    if (next.resumedAt > control.resumedAt) circuit = createCircuit(concurrency, now)
    if (next.replay?.number !== control.replay?.number) lanes.clear()
    control = next
  }

  /** Reads ahead; what nobody wants is done. */
  const read = async () => {
    hasMore = false
    const before = control.replay?.number
    const events = await feed.peek(READ.most)
    // Looked at after the events: a replay is written before its group begins anew, a pause before what it holds back.
    await readControl()
    const known = new Set([...done, ...lanes.events().map(({ id }) => id)])
    const fresh = events.filter(({ id }) => !known.has(id))
    if (fresh.length > 0) hasMore = true
    if (control.replay?.number !== before) return
    const [first] = fresh
    // What tells of missed events has another id once others are acknowledged.
    if (first && missedIn(first.id) > 0) return addJobs([first], [jobOf(first)])
    const isNew = ({ timestamp }: Event) => timestamp >= (control.replay?.since ?? 0)
    const wanted = await Promise.all(fresh.map(async (event) => isNew(event) && (await feed.wants(event))))
    fresh.forEach((event, at) => {
      if (wanted[at]) lanes.add(event)
      else done.push(event.id)
    })
  }

  const jobOf = (event: Event, failure?: string): NewJob => {
    const { replay } = control
    const id = replay ? `${queue}/${event.id}.${replay.number}` : `${queue}/${event.id}`
    const data = failure === undefined ? { event } : { event, failure }
    return { id, lane: laneOf(event), group: name, data }
  }
  const addJobs = async (events: Event[], jobs: NewJob[]) => {
    for (const { lane, id } of jobs) lanes.hasJob(lane, id)
    await store.jobs.add(queue, jobs)
    for (const { id } of events) done.push(id)
  }
  /** What failed becomes a job, and what is behind it while the receiver is not left alone. */
  const makeJobs = async () => {
    const isClosed = circuit.isClosed()
    const behind = lanes.behindJobs(isClosed).map((lane) => {
      const events = isClosed ? [...lane.events] : lane.events.slice(0, 1)
      const jobs = events.map((event, at) => jobOf(event, at === 0 ? lane.failure : undefined))
      return { lane, events, jobs }
    })
    if (behind.length === 0) return
    const jobs = behind.flatMap((each) => each.jobs)
    await addJobs(
      behind.flatMap(({ events }) => events),
      jobs,
    )
    for (const { lane, events } of behind) lanes.becameJobs(lane, events.length)
  }

  const ack = async () => {
    clearTimeout(acking)
    acking = undefined
    const ids = [...done]
    if (ids.length > 0) await feed.ack(ids)
    done.splice(0, ids.length)
  }

  const loop = createLoop({
    async step() {
      await makeJobs()
      await ack()
      const mayRead = !control.stopped && !circuit.isOpen()
      const isRead = mayRead && hasMore && lanes.events().length < READ.below + concurrency
      if (isRead) await read()
      sendMore()
      return isRead ? 'again' : undefined
    },
    failed(error) {
      hasMore = true
      failed(error)
    },
    pause: STORE_PAUSE,
  })

  const run = async (job: ClaimedJob, signal: AbortSignal): Promise<RunOutcome> => {
    const { event, failure } = jobSchema.parse(job.data)
    if (failure !== undefined && attemptOf(job) === 1) return failedJob(job, failure)
    // Both were taken to be the one that is tried.
    if (!circuit.isClosed() && underWay.events > 0) return { outcome: 'release' }
    underWay.jobs++
    const { reason, stays } = await attempt(event, attemptOf(job))
    underWay.jobs--
    sendMore()
    if (reason === undefined) return { outcome: 'done' }
    return stays || signal.aborted ? { outcome: 'release' } : failedJob(job, reason)
  }
  const failedJob = (job: ClaimedJob, reason: string): RunOutcome => {
    const error = new TriviumError('push_failed', { name, reason })
    const outcome = failedAttempt(job, error, retry, now())
    deps.pushed(name, outcome.outcome)
    log[outcome.outcome === 'dead' ? 'error' : 'warn']({ job: job.id, err: error }, 'an event was not pushed')
    return outcome
  }

  const worker = createWorker({
    queue,
    store,
    concurrency,
    /** One place at least, so that a backlog in the group does not keep jobs from being tried. */
    limits() {
      const left = circuit.room() - underWay.events
      return new Map([[name, control.stopped ? 0 : circuit.isClosed() ? Math.max(1, left) : left]])
    },
    retry,
    run,
    settled({ lane, id }, outcome) {
      if (outcome === 'done' || outcome === 'dead') lanes.jobEnded(lane, id)
      loop.wake()
    },
    log,
    now,
  })
  const look = () => {
    hasMore = true
    loop.wake()
  }
  const offs = [
    store.onSignal(`topic:${topic}`, look),
    store.onSignal(`kv:${records.key}`, () => {
      void readControl().then(() => {
        look()
        worker.wake()
      }, failed)
    }),
  ]
  const looking = setInterval(() => void feed.keep().then(look, failed), LOOK_AGAIN)
  loop.start()
  worker.start()
  probeLater()

  /** What is under way gets `grace` ms. */
  return async (grace: number): Promise<void> => {
    isStopping = true
    for (const off of offs) off()
    clearInterval(looking)
    const cut = setTimeout(poster.close, grace)
    const drained = new Promise<void>((resolve) => {
      ended = resolve
      if (underWay.events === 0) resolve()
    })
    await Promise.all([loop.stop(), worker.stop(grace), drained])
    for (const timer of [cut, probing, acking]) clearTimeout(timer)
    await Promise.all([ack().catch(failed), report().catch(failed), poster.close()])
  }
}
