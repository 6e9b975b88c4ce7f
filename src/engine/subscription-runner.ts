import { isDeepStrictEqual } from 'node:util'
import { allKeys } from '../core/all-keys.ts'
import { type Json, toJson } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Signal, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { createLoop } from '../lib/loop.ts'
import { wantedOf } from './event-filter.ts'
import { deliveryId, roundsOf } from './event-rounds.ts'
import type { createGroupSettings } from './group-settings.ts'
import {
  CHANGED,
  jobSchema,
  PREFIX,
  type Subscription,
  type SubscriptionJob,
  subscriptionSchema,
} from './subscriptions.ts'
import { withGap } from './with-gap.ts'
import { createWorker } from './worker.ts'
import type { WorkerOptions } from './worker-options.ts'

/** The queue of the events of subscribed skills. */
export const QUEUE = 'subscriptions'
const RETRY = { attempts: 5, first: 1000, longest: 60_000 }
/** Lease in ms for a batch of events while it is turned into jobs. */
const HANDOVER_LEASE = 30_000
const BATCH = 100
/**
 * Maximum time (ms) between two reads of a group: without reads it counts as unused, and is removed
 * after days.
 */
const READ_AGAIN = 12 * 60 * 60 * 1_000

type RunnerOptions = {
  store: Pick<Store, 'topics' | 'jobs' | 'kv' | 'journal' | 'onSignal'>
  settings: Pick<ReturnType<typeof createGroupSettings>, 'of'>
  invoke(job: SubscriptionJob, signal: AbortSignal, rootId: string): Promise<unknown>
  /** Holds jobs of paused skills, and of those whose runs call them. */
  pauses?: Pick<WorkerOptions, 'isHeld' | 'holdCall'>
  log: Log
  now(): number
}

/**
 * Turns each event of a subscription into a durable job, in order: leased, added under its id and
 * round, then acked. A delivery that is repeated after a crash has the same round, and runs once. A
 * redelivery by an operator has another one, and runs again.
 */
export function createSubscriptionRunner(options: RunnerOptions) {
  const { store, log, now } = options
  const running = new Map<string, { value: Json; end(): Promise<void> }>()
  let endFollowing = async () => {}

  const worker = createWorker({
    queue: QUEUE,
    store,
    concurrency: 16,
    lease: HANDOVER_LEASE,
    retry: RETRY,
    ...options.pauses,
    async run(job, signal) {
      await options.invoke(jobSchema.parse(job.data), signal, job.id)
      return { outcome: 'done' }
    },
    log,
    now,
  })

  const end = async (key: string) => {
    await running.get(key)?.end()
    running.delete(key)
  }

  /** Starts new subscriptions and stops removed ones, at the start and after each change. */
  const follow = async () => {
    const keys = new Set(await allKeys(store.kv, PREFIX))
    for (const key of running.keys()) if (!keys.has(key)) await end(key)
    for (const key of keys) {
      const known = await store.kv.get(key)
      if (!known || isDeepStrictEqual(running.get(key)?.value, known.value)) continue
      await end(key)
      const subscription = subscriptionSchema.parse(known.value)
      const { topic, group } = subscription
      // Creates the group again if it has expired because no daemon ran for days.
      await store.topics.subscribe(topic, group, 'now')
      running.set(key, {
        ...known,
        end: repeat(() => handOver(subscription, options), `topic:${topic}`, options),
      })
    }
    return undefined
  }

  return {
    start() {
      worker.start()
      endFollowing = repeat(follow, `kv:${CHANGED}`, options)
    },
    async stop(grace: number) {
      await endFollowing()
      await Promise.all([worker.stop(grace), ...[...running.keys()].map(end)])
    },
  }
}

/**
 * Turns the next events of a subscription into jobs. Returns `again`, or the ms until there may be
 * more.
 */
async function handOver(
  { topic, group, ...skill }: Subscription,
  { store, settings, now }: Pick<RunnerOptions, 'store' | 'settings' | 'now'>,
): Promise<'again' | number> {
  const read = { group, max: BATCH, mode: 'lease', lease: HANDOVER_LEASE, withRounds: true } as const
  const [batch] = await store.topics.read(topic, [read])
  const all = batch ? withGap(topic, batch, now(), 'lease') : []
  if (all.length === 0) return batch?.nextVisible ? batch.nextVisible - now() : READ_AGAIN
  const events = await wantedOf(all, await settings.of(topic, group), store.journal)
  const lane = `${topic}/${group}`
  const rounds = roundsOf(batch)
  const jobs = events.map((event) => ({
    id: deliveryId(`${lane}/${event.id}`, rounds.get(event.id)),
    lane,
    group: skill.ref,
    data: toJson({ ...skill, event }),
  }))
  await store.jobs.add(QUEUE, jobs)
  // An event that was redelivered meanwhile has another round, and stays unread.
  for (const [round, some] of Map.groupBy(all, ({ id }) => rounds.get(id)))
    await store.topics.ack(
      topic,
      group,
      some.map(({ id }) => id),
      defined({ round }),
    )
  return 'again'
}

/** Repeats a step, also on every signal. Returns a function that stops it. */
function repeat(
  step: Parameters<typeof createLoop>[0]['step'],
  signal: Signal,
  { store, log }: Pick<RunnerOptions, 'store' | 'log'>,
): () => Promise<void> {
  const failed = (err: unknown) => log.warn({ err }, 'subscriptions cannot be served; trying again')
  const loop = createLoop({ step, failed })
  const off = store.onSignal(signal, loop.wake)
  loop.start()
  return () => {
    off()
    return loop.stop()
  }
}
