import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { TriviumError } from '../../core/errors.ts'
import type { Event } from '../../core/event.ts'
import type { Log } from '../../core/log.ts'
import { missedIn } from '../../core/message-id.ts'
import type { PushSubscription } from '../../core/push.ts'
import type { ClaimedJob, GroupBatch, NewJob, Store } from '../../core/store.ts'
import { createEventFilter } from '../../engine/event-filter.ts'
import { withGap } from '../../engine/subscriptions.ts'
import { attemptOf, createWorker, failedAttempt, type RunOutcome } from '../../engine/worker.ts'
import { createBell, createLoop } from '../../lib/loop.ts'
import { putLast } from '../../lib/put-last.ts'
import { createCircuit } from './circuit.ts'
import { type Answer, createPoster } from './post.ts'
import { type Control, queueOf, type Records } from './records.ts'
import { conversationOf } from './wire.ts'

export type SendingDeps = {
  store: Pick<Store, 'topics' | 'jobs' | 'journal' | 'onSignal' | 'stats'>
  /** Counts an attempt; tells how long one took that worked. */
  pushed(subscription: string, outcome: 'sent' | 'retry' | 'dead', seconds?: number): void
  /** Does work about an event as part of its trace, where there are traces. */
  traced?: (<T>(name: string, event: Event, work: () => Promise<T>) => Promise<T>) | undefined
  log: Log
  now(): number
}

const jobSchema = z.object({
  event: z.custom<Event>((value) => typeof Object(value).id === 'string'),
  /** Why it was not pushed at once. */
  failure: z.string().exactOptional(),
})

/** Events from one read, and how many that wait in memory call for the next. */
const READ = { most: 500, below: 512 }
/** Acknowledged together: so many, or what there is after so many ms. */
const ACK = { most: 1_000, after: 100 }
/** Attempts that are shown, how many are there before the others go, and how often (ms) they are written at most. */
const SHOWN = { most: 50, kept: 1_000, every: 500 }
/** Ms after which a job comes back that found somebody else trying whether the receiver works. */
const LOOK_AGAIN = 1_000
/** Lanes that are remembered where not all without jobs are known: of one that is forgotten it is not known again. */
const KNOWN = 1_000
/** In place of the last job of a lane: it has none; whether it has one is not known. */
const FREE = ''
const UNKNOWN = '?'

/**
 * POSTs the events of one subscription, in order within a conversation (its lane; events without one share a lane), straight
 * from its group, where they are acknowledged once they are answered with 2xx. One that fails becomes a job, which is tried
 * until its attempts are used up; what comes behind it in its lane becomes jobs too, until the last of them has ended. While
 * the receiver is left alone all else stays in the group. One daemon reads the group at a time, so it peeks: nothing is
 * hidden that a crash would keep back. Serves one `control`: when it changes, call what is returned, and begin anew.
 */
export async function startSending(
  subscription: PushSubscription,
  control: Control,
  records: Records,
  deps: SendingDeps,
) {
  const { name, topic, concurrency, retry } = subscription
  const { store, now } = deps
  const { since, number } = control.replay ?? { since: 0 }
  const queue = queueOf(name)
  const log = deps.log.child({ subscription: name })
  const wants = subscription.match && createEventFilter(subscription.match, store.journal)
  const poster = createPoster(subscription, now)
  /** The newest last. */
  const attempts = (await records.report()).attempts.toReversed()
  const circuit = createCircuit(concurrency, now)

  /** What was read and is to be sent, oldest first. The first of a lane that is not in `ready` is under way. */
  const lanes = new Map<string, Event[]>()
  const ready: string[] = []
  /** The last job of each lane: when it has ended, so have those before it. */
  const lastJobs = new Map<string, string>()
  /** What holds of all other lanes: jobs may be left from before. */
  let others = UNKNOWN
  /** On the way into the queue. */
  const leaving: (NewJob & { data: { event: Event } })[] = []
  /** Ids that need nothing more but to be acknowledged; all that were read and are not. */
  const done: string[] = []
  const held = new Set<string>()
  let ackedAt = 0
  let underWay = 0
  /** Events in lanes. */
  let ahead = 0
  /**
   * Of each partition: whether the group may have more than was read, a position up to which all is held or done, so that the next read
   * begins behind it (0 where that is not sure), and whether something may have become visible before that since the last read from the start.
   */
  const partitions = Array.from({ length: store.topics.partitions(topic) }, (_, partition) => {
    return { partition, hasMore: true, readTo: 0, isBehind: false }
  })
  let isGone = false
  let isStopping = false
  /** How many the worker was last told that may be under way. */
  let told = concurrency
  /** Whether an event was made a job since then, of a lane of which nothing is known. */
  let isTried = false
  const drained = createBell()
  let reporting: NodeJS.Timeout | undefined
  const failed = (err: unknown) => log.warn({ err }, 'the store does not answer; trying again')

  const room = () => (isStopping || isGone ? 0 : circuit.room())
  const isFree = (lane: string) => (lastJobs.get(lane) ?? others) === FREE
  /** Makes no job of what the receiver need not see yet, but of one event after each rest: the jobs from before may be all that it refuses. */
  const mayLeave = (lane: string) => {
    if (circuit.isClosed()) return true
    if (isTried || lastJobs.has(lane)) return false
    isTried = true
    return true
  }
  const isLow = () => ahead < READ.below + concurrency && partitions.some(({ hasMore }) => hasMore)
  const look = (at?: number) => {
    for (const each of at === undefined ? partitions : partitions.slice(at, at + 1))
      each.hasMore = each.isBehind = true
    loop.wake()
  }
  const lookForJobs = async () => {
    const jobs = (await store.stats()).jobs.find((each) => each.queue === queue)
    if (!jobs || jobs.waiting + jobs.running === 0) others = FREE
  }
  const report = async () => {
    clearTimeout(reporting)
    reporting = undefined
    await records.tell({ attempts: attempts.slice(-SHOWN.most).reverse(), failures: circuit.failures() })
    if (others === UNKNOWN) await lookForJobs()
  }

  const post = (event: Event, done: (answer: Answer) => void) => {
    const work = () => new Promise<Answer>((resolve) => poster.post(event, resolve))
    if (deps.traced) void deps.traced(`push ${name}`, event, work).then(done)
    else poster.post(event, done)
  }
  /** Notes an attempt that began `at`. `stays`: that it failed says nothing of the event, which keeps its place. */
  const note = (event: Event, number: number, at: number, { retryAt = 0, ...said }: Answer) => {
    const { reason, status } = said
    const ms = now() - at
    const wasOpen = circuit.isOpen()
    if (reason === undefined) {
      if (!circuit.isClosed()) look()
      circuit.succeeded()
      deps.pushed(name, 'sent', ms / 1000)
    }
    // Cut off, most likely.
    else if (isStopping) return { reason, stays: true }
    else circuit.failed(retryAt)
    attempts.push({ at, event: event.id, attempt: number, ms, ...said })
    if (attempts.length > SHOWN.kept) attempts.splice(0, attempts.length - SHOWN.most)
    reporting ??= setTimeout(() => void report().catch(failed), SHOWN.every)
    isGone ||= status === 410
    return { reason, stays: wasOpen || status === 410 }
  }

  const send = (lane: string, events: Event[], event: Event) => {
    const at = now()
    underWay++
    post(event, (answer) => sent(lane, events, event, note(event, 1, at, answer)))
  }
  const sent = (lane: string, events: Event[], event: Event, { reason, stays }: ReturnType<typeof note>) => {
    underWay--
    if (reason === undefined) {
      done.push(event.id)
      events.shift()
      ahead--
    }
    if (!isFree(lane) || (reason !== undefined && !stays)) {
      ahead -= events.length
      leave(events.splice(0), reason)
    }
    if (events.length > 0) ready.push(lane)
    else lanes.delete(lane)
    if (underWay === 0) drained.ring()
    sendMore()
    if (reason !== undefined || isLow() || done.length >= ACK.most || underWay === 0) loop.wake()
  }
  const sendMore = () => {
    while (underWay < room()) {
      const lane = ready.shift()
      if (lane === undefined) return
      const events = lanes.get(lane)
      if (events?.[0]) send(lane, events, events[0])
    }
  }
  /** Makes jobs of events; `failure`: why the first of them was not pushed. */
  const leave = (events: Event[], failure?: string) => {
    for (const [at, event] of events.entries()) {
      const id = number === undefined ? `${queue}/${event.id}` : `${queue}/${event.id}.${number}`
      const lane = laneOf(event)
      putLast(lastJobs, lane, id, Number.POSITIVE_INFINITY)
      const data = at > 0 || failure === undefined ? { event } : { event, failure }
      leaving.push({ id, lane, group: name, data })
    }
  }

  /** Reads ahead; what nobody wants is done. */
  const read = async () => {
    const open = partitions.filter(({ hasMore }) => hasMore)
    const max = Math.ceil(READ.most / open.length)
    const reads = open.map((each) => {
      const { partition, readTo: after } = each
      each.hasMore = false
      each.readTo = 0
      each.isBehind &&= after > 0
      return { group: name, max, mode: 'peek', partition, after } as const
    })
    const batches = await store.topics.read(topic, reads)
    for (const [at, each] of open.entries()) await take(each, batches[at])
  }
  const take = async (from: (typeof partitions)[number], batch: GroupBatch | undefined) => {
    const events = withGap(topic, batch ?? { events: [], missed: 0 }, now(), 'peek')
    const fresh = events.filter(({ id }) => !held.has(id))
    const [first] = fresh
    // A pause is written before what it holds back is published, and a replay before its group begins anew.
    if (first && !isDeepStrictEqual(await records.control(), control)) return
    const isGap = first !== undefined && missedIn(first.id) > 0
    let isAllTaken = !isGap
    const wanted = wants && !isGap ? await Promise.all(fresh.map(wants)) : []
    // What tells of missed events has another id once others are acknowledged.
    for (const [at, event] of isGap ? [[0, first] as const] : fresh.entries()) {
      const lane = laneOf(event)
      if (wanted[at] === false || event.timestamp < since) done.push(event.id)
      else if (isGap || (!isFree(lane) && mayLeave(lane))) leave([event])
      else if (!isFree(lane)) {
        isAllTaken = false
        continue
      } else {
        ahead++
        const events = lanes.get(lane)
        if (events) events.push(event)
        else lanes.set(lane, [event]) && ready.push(lane)
      }
      held.add(event.id)
      from.hasMore = true
    }
    // Large events come few at a time, so that only an answer without any is the end.
    const last = events.at(-1)
    if (isAllTaken && last) from.readTo = store.topics.placeOf(topic, last.id)?.position ?? 0
    from.hasMore ||= from.readTo > 0 || (last === undefined && from.isBehind)
  }
  const ack = async () => {
    ackedAt = now()
    const ids = done.splice(0)
    try {
      if (ids.length > 0) await store.topics.ack(topic, name, ids, true)
      for (const id of ids) held.delete(id)
    } catch (error) {
      done.push(...ids)
      throw error
    }
  }
  /** Standard Webhooks: who answers 410 wants nothing more. */
  const disable = async () => {
    await records.change((known) => ({ ...known, stopped: { why: 'gone', by: 'the receiver' } }))
    isStopping = true
    isGone = false
    log.error({}, 'the receiver is gone (410): nothing is pushed until somebody resumes the subscription')
  }

  const loop = createLoop({
    async step() {
      if (isGone) await disable()
      const jobs = [...leaving]
      if (jobs.length > 0) await store.jobs.add(queue, jobs)
      for (const { data } of leaving.splice(0, jobs.length)) done.push(data.event.id)
      const places = room()
      if (told !== places) {
        isTried = false
        look()
        worker.wake()
      }
      told = places
      const isRead = told > 0 && isLow()
      const isDue = done.length >= ACK.most || now() >= ackedAt + ACK.after || underWay === 0
      // At once: the store does them in this order, and flushes once. Both have ended before another step begins.
      const ends = await Promise.allSettled([isDue && ack(), isRead && read()])
      for (const end of ends) if (end.status === 'rejected') throw end.reason
      sendMore()
      const rest = circuit.restsFor()
      // It may have ended meanwhile.
      if (isRead || told !== room() || (underWay === 0 && done.length > 0)) return 'again'
      return underWay > 0 ? ACK.after : rest
    },
    failed(error) {
      for (const each of partitions) each.hasMore = true
      failed(error)
    },
  })

  const run = async (job: ClaimedJob, signal: AbortSignal): Promise<RunOutcome> => {
    const { event, failure } = jobSchema.parse(job.data)
    if (failure !== undefined && attemptOf(job) === 1) return failedJob(job, failure)
    if (!circuit.isClosed() && underWay > 0) return { outcome: 'release', delay: LOOK_AGAIN }
    const at = now()
    underWay++
    const answer = await new Promise<Answer>((resolve) => post(event, resolve))
    const { reason, stays } = note(event, attemptOf(job), at, answer)
    underWay--
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
    limits: () => new Map([[name, room()]]),
    retry,
    run,
    settled({ lane, id }, outcome) {
      const isLast = lastJobs.get(lane) === id && (outcome === 'done' || outcome === 'dead')
      if (isLast && others === FREE) lastJobs.delete(lane)
      else if (isLast) putLast(lastJobs, lane, FREE, KNOWN)
      look()
    },
    log,
    now,
  })

  await lookForJobs()
  const offs = [store.onSignal(`topic:${topic}`, look), store.onSignal(`kv:${records.key}`, () => look())]
  loop.start()
  worker.start()

  /** What is under way gets `grace` ms. */
  return async (grace: number): Promise<void> => {
    isStopping = true
    for (const off of offs) off()
    const cut = setTimeout(poster.close, grace)
    await Promise.all([loop.stop(), worker.stop(grace)])
    drained.clear()
    if (underWay > 0) await drained.sleep()
    clearTimeout(cut)
    await Promise.all([ack().catch(failed), report().catch(failed), poster.close()])
  }
}

function laneOf(event: Event): string {
  const conversation = conversationOf(event)
  return conversation === undefined ? event.topic : `${event.source}/${conversation}`
}
