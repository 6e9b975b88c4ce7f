import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { type Event, eventSchema } from '../core/event.ts'
import { type Json, toJson } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import { makeId } from '../core/message-id.ts'
import type { GroupBatch, GroupRead, Signal, Store } from '../core/store.ts'
import { createLoop } from '../lib/loop.ts'
import { wantedOf } from './event-filter.ts'
import type { createGroupSettings } from './group-settings.ts'
import { createWorker } from './worker.ts'

const jobSchema = z.object({
  ref: z.string(),
  /** The subscriber. The skill runs with the rights they have at run time. */
  by: z.object({ kind: z.enum(['route', 'cli', 'http', 'mcp', 'code']), id: z.string().exactOptional() }),
  event: eventSchema,
})
const subscriptionSchema = jobSchema.omit({ event: true }).extend({ topic: z.string(), group: z.string() })

const listedSchema = subscriptionSchema.extend({ since: z.number().exactOptional() })

/** A consumer group whose events invoke a skill. */
export type Subscription = z.infer<typeof subscriptionSchema>

/** One event for the skill of a subscription. */
export type SubscriptionJob = z.infer<typeof jobSchema>

const QUEUE = 'subscriptions'
const PREFIX = 'trivium:subscription:'
/** Written with every change of a subscription, to notify all daemons on the store. */
const CHANGED = 'trivium:subscriptions'
const RETRY = { attempts: 5, first: 1000, longest: 60_000 }
/** Lease in ms for a batch of events while it is turned into jobs. */
const HANDOVER_LEASE = 30_000
const BATCH = 100
/** Ms. A group without reads counts as unused and is removed after days. */
const READ_AGAIN = 12 * 60 * 60 * 1_000

/** Subscriptions with a `ref`, kept in the store: they survive restarts and run on any daemon. */
export function createSubscriptions({ kv }: Pick<Store, 'kv'>, now: () => number) {
  const keyOf = ({ topic, group }: Pick<Subscription, 'topic' | 'group'>) => `${PREFIX}${topic}\n${group}`
  return {
    async add(subscription: Subscription): Promise<void> {
      // With the time, so that a recreated subscription differs from the old one.
      await kv.set(keyOf(subscription), { ...subscription, since: now() })
      await kv.set(CHANGED, now())
    },
    /** All, with the skill of each and since when (Unix ms). */
    async list() {
      const keys = await kv.list(PREFIX, 10_000)
      const found = await Promise.all(keys.map((key) => kv.get(key)))
      return found.flatMap((entry) => listedSchema.safeParse(entry?.value).data ?? [])
    },
    /** Removes a subscription; with `ref`, only if it matches. Returns whether there was one. */
    async remove(ref: string | undefined, named: Pick<Subscription, 'topic' | 'group'>): Promise<boolean> {
      const known = await kv.get(keyOf(named))
      if (!known || (ref !== undefined && subscriptionSchema.parse(known.value).ref !== ref)) return false
      await kv.delete(keyOf(named))
      await kv.set(CHANGED, now())
      return true
    },
  }
}

type RunnerOptions = {
  store: Pick<Store, 'topics' | 'jobs' | 'kv' | 'journal' | 'onSignal'>
  settings: Pick<ReturnType<typeof createGroupSettings>, 'of'>
  invoke(job: SubscriptionJob, signal: AbortSignal, rootId: string): Promise<unknown>
  log: Log
  now(): number
}

/** Turns each event of a subscription into a durable job, in order: leased, added under its id (so once, even after a crash), then acked. */
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
    async run(job, signal) {
      await options.invoke(jobSchema.parse(job.data), signal, job.id)
      return { outcome: 'done' }
    },
    log,
    now,
  })

  /** Repeats a step, also on every signal. Returns a function that stops it. */
  const repeat = (step: Parameters<typeof createLoop>[0]['step'], signal: Signal) => {
    const failed = (err: unknown) => log.warn({ err }, 'subscriptions cannot be served; trying again')
    const loop = createLoop({ step, failed })
    const off = store.onSignal(signal, loop.wake)
    loop.start()
    return () => {
      off()
      return loop.stop()
    }
  }

  const handOver = async ({ topic, group, ...skill }: Subscription) => {
    const read = { group, max: BATCH, mode: 'lease', lease: HANDOVER_LEASE } as const
    const [batch] = await store.topics.read(topic, [read])
    const all = batch ? withGap(topic, batch, now(), 'lease') : []
    if (all.length === 0) return batch?.nextVisible ? batch.nextVisible - now() : READ_AGAIN
    const events = await wantedOf(all, await options.settings.of(topic, group), store.journal)
    const lane = `${topic}/${group}`
    const jobs = events.map((event) => ({
      id: `${lane}/${event.id}`,
      lane,
      group: skill.ref,
      data: toJson({ ...skill, event }),
    }))
    await store.jobs.add(QUEUE, jobs)
    const ids = all.map(({ id }) => id)
    await store.topics.ack(topic, group, ids)
    return 'again'
  }

  const end = async (key: string) => {
    await running.get(key)?.end()
    running.delete(key)
  }

  /** Starts new subscriptions and stops removed ones, at the start and after each change. */
  const follow = async () => {
    const keys = new Set(await store.kv.list(PREFIX, 10_000))
    for (const key of running.keys()) if (!keys.has(key)) await end(key)
    for (const key of keys) {
      const known = await store.kv.get(key)
      if (!known || isDeepStrictEqual(running.get(key)?.value, known.value)) continue
      await end(key)
      const subscription = subscriptionSchema.parse(known.value)
      const { topic, group } = subscription
      // The group has expired if no daemon ran for longer than groups are kept.
      await store.topics.subscribe(topic, group, 'now')
      running.set(key, { ...known, end: repeat(() => handOver(subscription), `topic:${topic}`) })
    }
    return undefined
  }

  return {
    start() {
      worker.start()
      endFollowing = repeat(follow, `kv:${CHANGED}`)
    },
    async stop(grace: number) {
      await endFollowing()
      await Promise.all([worker.stop(grace), ...[...running.keys()].map(end)])
    },
  }
}

/**
 * Adds a gap event before the remaining events of a group that fell behind retention. Peeks repeat it, with the same id while
 * nothing changes, until it is acknowledged.
 */
export function withGap(topic: string, batch: GroupBatch, now: number, mode: GroupRead['mode']): Event[] {
  const { items: events, missed } = batch
  if (missed === 0) return events
  const isPeek = mode === 'peek'
  const timestamp = (isPeek && events[0]?.timestamp) || now
  const id = makeId(timestamp, 0, isPeek ? missed : 0)
  return [{ id, topic, type: 'gap', source: 'trivium', data: { missed }, timestamp }, ...events]
}
