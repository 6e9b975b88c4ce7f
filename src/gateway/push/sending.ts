import { z } from 'zod'
import { TriviumError } from '../../core/errors.ts'
import type { Event } from '../../core/event.ts'
import type { Log } from '../../core/log.ts'
import type { PushSubscription } from '../../core/push.ts'
import type { ClaimedJob, Store } from '../../core/store.ts'
import { attemptOf, createWorker, failedAttempt, type RunOutcome } from '../worker.ts'
import { createCircuit } from './circuit.ts'
import { createFeed, queueOf } from './feed.ts'
import { createPoster } from './post.ts'
import type { Records } from './records.ts'

export type SendingDeps = {
  store: Pick<Store, 'topics' | 'jobs' | 'journal' | 'onSignal'>
  /** Counts an attempt. */
  pushed(subscription: string, outcome: 'sent' | 'retry' | 'dead'): void
  log: Log
  now(): number
}

const jobSchema = z.object({ event: z.custom<Event>((value) => typeof Object(value).id === 'string') })
const BATCH = 256
/** Attempts that are shown, and how often (ms) they are written at most. */
const SHOWN = 50
const REPORT_EVERY = 500
/** Ms. A group that nobody reads from is removed after days. */
const LOOK_AGAIN = 3_600_000

/**
 * POSTs the events of one subscription, in order within a conversation, each until it is answered with 2xx or its attempts
 * are used up. Takes no more events from the group than the receiver may be sent.
 */
export async function startSending(subscription: PushSubscription, records: Records, deps: SendingDeps) {
  const { name, topic, concurrency, retry } = subscription
  const { store, now } = deps
  const log = deps.log.child({ subscription: name })
  const feed = createFeed(subscription, store, now)
  const poster = createPoster(subscription, now)
  let control = await records.control()
  let { attempts, ...before } = await records.report()
  let circuit = createCircuit(concurrency, now, before)
  let reporting: NodeJS.Timeout | undefined
  let probing: NodeJS.Timeout | undefined
  const failed = (err: unknown) => log.warn({ err }, 'the store does not answer; trying again')

  const report = () => {
    clearTimeout(reporting)
    reporting = undefined
    return records.tell({ attempts, ...circuit.state() }).catch(failed)
  }
  const probeLater = () => {
    clearTimeout(probing)
    probing = setTimeout(() => worker.wake(), Math.max(0, circuit.state().openUntil - now()))
  }

  const run = async (job: ClaimedJob, signal: AbortSignal): Promise<RunOutcome> => {
    const { event } = jobSchema.parse(job.data)
    const at = now()
    const { retryAt = 0, ...said } = await poster.post(event, signal)
    if (signal.aborted) return { outcome: 'release' }
    const attempt = { at, event: event.id, attempt: attemptOf(job), ms: now() - at, ...said }
    attempts = [attempt, ...attempts].slice(0, SHOWN)
    reporting ??= setTimeout(() => void report(), REPORT_EVERY)
    if (said.reason === undefined) {
      circuit.succeeded()
      deps.pushed(name, 'sent')
      return { outcome: 'done' }
    }
    circuit.failed(retryAt)
    probeLater()
    if (said.status === 410) return disable()
    const error = new TriviumError('push_failed', { name, reason: said.reason })
    const outcome = failedAttempt(job, error, retry, now())
    deps.pushed(name, outcome.outcome)
    log[outcome.outcome === 'dead' ? 'error' : 'warn'](
      { event: event.id, err: error },
      'an event was not pushed',
    )
    return outcome
  }

  /** Standard Webhooks: who answers 410 wants nothing more. */
  const disable = async (): Promise<RunOutcome> => {
    log.error(
      {},
      'the receiver is gone (410): nothing is pushed to it until somebody resumes the subscription',
    )
    const stopped = { why: 'gone', by: 'the receiver' } as const
    control = { ...control, stopped }
    await records.change((known) => ({ ...known, stopped }))
    return { outcome: 'release' }
  }

  const readControl = async () => {
    const next = await records.control()
    if (next.resumedAt > control.resumedAt) circuit = createCircuit(concurrency, now)
    control = next
    return control
  }

  const worker = createWorker({
    queue: queueOf(name),
    store,
    concurrency,
    limits: () => new Map([[name, control.stopped ? 0 : circuit.room()]]),
    retry,
    async refill() {
      const appetite = control.stopped ? 0 : circuit.appetite(BATCH)
      const jobs = appetite > 0 ? await feed.take(appetite, readControl) : undefined
      if (jobs) circuit.fed()
      return jobs !== undefined
    },
    run,
    log,
    now,
  })
  const offs = [
    store.onSignal(`topic:${topic}`, worker.wake),
    store.onSignal(`kv:${records.key}`, () => void readControl().then(worker.wake, failed)),
  ]
  const looking = setInterval(() => void feed.peek(1).catch(failed), LOOK_AGAIN)
  worker.start()
  probeLater()

  /** What is under way gets `grace` ms. */
  return async (grace: number): Promise<void> => {
    for (const off of offs) off()
    clearInterval(looking)
    await worker.stop(grace)
    clearTimeout(probing)
    await Promise.all([report(), poster.close()])
  }
}
