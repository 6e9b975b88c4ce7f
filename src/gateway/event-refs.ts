import { z } from 'zod'
import { TriviumError } from '../core/errors.ts'
import type { Event } from '../core/event.ts'
import { toJson } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Store } from '../core/store.ts'
import { backoff } from '../lib/backoff.ts'
import { waitFor } from '../lib/wait-for.ts'
import { withGap } from './gap.ts'
import { attemptError, createWorker, type Worker } from './worker.ts'

const SUBSCRIPTION_QUEUE = 'subscriptions'

/** A consumer group whose events invoke a skill. */
export type RefSubscription = { topic: string; group: string; ref: string }

/** Subscriptions with `ref`: durable, so that they go on after a restart and on any daemon. */
export type RefSubscriptions = {
  add(subscription: RefSubscription): Promise<void>
  /** Ends it; with `ref` only where it is that one. Tells whether there was one to end. */
  remove(subscription: { topic: string; group: string; ref?: string }): Promise<boolean>
  /** Takes up what the store knows, and from then on what any daemon changes. */
  start(): Promise<void>
  stop(grace: number): Promise<void>
}

const subscriptionSchema = z.object({ topic: z.string(), group: z.string(), ref: z.string() })
const jobSchema = z.object({ ref: z.string(), event: z.unknown() })

const RETRY = { attempts: 5, first: 1000, longest: 60_000 }
const PREFIX = 'trivium:subscription:'
/** Written with each change of a subscription, so that every daemon on the store hears of it. */
const CHANGED = 'trivium:subscriptions'
const FOREVER = 2 ** 31 - 1
/** Ms for which a batch of events is hidden from the group while it becomes jobs. */
const HANDOVER_LEASE = 30_000
const BATCH = 100

/**
 * Makes each event of a subscription a durable job: leased from the group, added under the event's id (so a
 * crash between adds it once), then acknowledged. The jobs run in order per subscription, with retries and
 * dead letters like those of dispatch.
 */
export function createRefSubscriptions(options: {
  store: Pick<Store, 'topics' | 'jobs' | 'kv' | 'onSignal'>
  owner: string
  invoke(ref: string, event: unknown, signal: AbortSignal, rootId: string): Promise<unknown>
  log: Log
  now(): number
}): RefSubscriptions {
  const { store, log, now } = options
  const pumps = new Map<string, { ref: string; abort: AbortController }>()
  const ending = new Set<Promise<void>>()
  const stopping = new AbortController()

  const worker: Worker = createWorker({
    queue: SUBSCRIPTION_QUEUE,
    store,
    owner: options.owner,
    concurrency: 16,
    limits: () => new Map(),
    lease: HANDOVER_LEASE,
    async run(job, signal) {
      const { ref, event } = jobSchema.parse(job.data)
      try {
        await options.invoke(ref, event, signal, job.id)
        return { outcome: 'done' }
      } catch (thrown) {
        if (signal.aborted) throw thrown
        const attempt = job.failures + job.lost + 1
        const error = attemptError(thrown, now())
        const permanent = thrown instanceof TriviumError && !thrown.retryable
        if (!permanent && attempt < RETRY.attempts) {
          return { outcome: 'retry', delay: backoff(attempt, RETRY), error }
        }
        log.error({ ref, err: thrown }, 'an event of a subscription became a dead letter')
        return { outcome: 'dead', error, reason: permanent ? 'permanent' : 'attempts' }
      }
    },
    log,
    now,
  })

  const handOver = async (subscription: RefSubscription, events: Event[]) => {
    const { topic, group, ref } = subscription
    const jobs = events.map((event) => ({
      id: `${topic}/${group}/${event.id}`,
      lane: `${topic}/${group}`,
      group: ref,
      data: toJson({ ref, event }),
    }))
    await store.jobs.add(SUBSCRIPTION_QUEUE, jobs)
    await store.topics.ack(
      topic,
      group,
      events.map(({ id }) => id),
    )
  }

  const pump = async (subscription: RefSubscription, signal: AbortSignal) => {
    const { topic, group } = subscription
    while (!signal.aborted) {
      try {
        const events = await waitFor<Event[]>({
          async attempt() {
            const [batch] = await store.topics.read(topic, [
              { group, max: BATCH, mode: 'lease', lease: HANDOVER_LEASE },
            ])
            const events = batch ? withGap(topic, batch, now()) : []
            return events.length > 0 ? { value: events } : { retryAt: batch?.nextVisible }
          },
          watch: (wake) => store.onSignal(`topic:${topic}`, wake),
          timeout: FOREVER,
          signal,
        })
        if (events) await handOver(subscription, events)
      } catch (error) {
        log.warn({ topic, group, err: error }, 'events of a subscription cannot be read; trying again')
        await pause(1000, signal)
      }
    }
  }

  const begin = (subscription: RefSubscription) => {
    const key = keyOf(subscription)
    if (pumps.get(key)?.ref === subscription.ref) return
    end(key)
    const abort = new AbortController()
    pumps.set(key, { ref: subscription.ref, abort })
    untilItEnds(pump(subscription, abort.signal))
  }

  const end = (key: string) => {
    pumps.get(key)?.abort.abort()
    pumps.delete(key)
  }

  const untilItEnds = (work: Promise<void>) => {
    const ended = work.finally(() => ending.delete(ended))
    ending.add(ended)
  }

  const lastChange = async () => (await store.kv.get(CHANGED))?.version ?? 0

  const takeUp = async () => {
    const keys = new Set(await store.kv.list(PREFIX, 10_000))
    for (const key of pumps.keys()) if (!keys.has(key)) end(key)
    for (const key of keys) {
      const known = await store.kv.get(key)
      if (known && !stopping.signal.aborted) begin(subscriptionSchema.parse(known.value))
    }
  }

  /** Takes up what any daemon changes after the change `seen`. */
  const follow = async (seen: number) => {
    const { signal } = stopping
    let last = seen
    while (!signal.aborted) {
      try {
        const change = await waitFor<number>({
          async attempt() {
            const now = await lastChange()
            return now === last ? {} : { value: now }
          },
          watch: (wake) => store.onSignal(`kv:${CHANGED}`, wake),
          timeout: FOREVER,
          signal,
        })
        if (change === undefined) continue
        await takeUp()
        last = change
      } catch (error) {
        log.warn({ err: error }, 'the subscriptions cannot be read; trying again')
        await pause(1000, signal)
      }
    }
  }

  return {
    async add(subscription) {
      await store.kv.set(keyOf(subscription), toJson(subscription))
      await store.kv.set(CHANGED, now())
      begin(subscription)
    },
    async remove({ topic, group, ref }) {
      const key = keyOf({ topic, group })
      const known = await store.kv.get(key)
      if (!known || (ref !== undefined && subscriptionSchema.parse(known.value).ref !== ref)) return false
      await store.kv.delete(key)
      await store.kv.set(CHANGED, now())
      end(key)
      return true
    },
    async start() {
      worker.start()
      const seen = await lastChange()
      await takeUp()
      untilItEnds(follow(seen))
    },
    async stop(grace) {
      stopping.abort()
      for (const key of pumps.keys()) end(key)
      await Promise.all([worker.stop(grace), ...ending])
    },
  }
}

function keyOf({ topic, group }: { topic: string; group: string }): string {
  return `${PREFIX}${topic}\n${group}`
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
  })
}
