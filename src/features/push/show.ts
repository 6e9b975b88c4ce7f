import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { eventSchema, MESSAGE_TOPIC } from '../../core/event.ts'
import type { LongJob } from '../../core/long-job.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { Store } from '../../core/store.ts'
import type { SubscriptionInfo } from '../../core/subscription-info.ts'
import { HOUR } from '../../core/units.ts'
import { createShowEvent } from '../../engine/show-event.ts'
import { defined } from '../../lib/defined.ts'
import { openAttempts, withArrivals } from './arrivals.ts'
import { keptIn } from './attempt-list.ts'
import { eventStateOf } from './event-state.ts'
import { attemptsOf } from './listing.ts'
import type * as operations from './operations.ts'
import { policyOf } from './policy.ts'
import { createRecords } from './records.ts'
import type { PushSubscription } from './schema.ts'
import { maskedSettings } from './stored-settings.ts'
import type { StoredSubscription } from './stored-subscriptions.ts'
import { trafficIn } from './traffic-range.ts'
import { encodeEvent } from './wire.ts'

type Show = Pick<ServiceOf<typeof operations.subscriptions>, 'show'>['show']

/** Makes `subscription-show`. `recordOf`: the entry of a subscription that is not in the file. */
export function createShow(deps: {
  store: Store
  find(name: string): PushSubscription
  list(subscription: PushSubscription): Promise<SubscriptionInfo | undefined>
  recordOf(name: string): Promise<StoredSubscription | undefined>
  /** The replays to a subscription, from the last week. */
  replaysTo(name: string): Promise<readonly LongJob[]>
  now(): number
}): Show {
  return async ({ name, event, limit, ...filter }, call) => {
    const subscription = deps.find(name)
    const info = await deps.list(subscription)
    if (!info) return null
    const all =
      event === undefined
        ? { attempts: info.attempts ?? [] }
        : await attemptsAt(deps, { subscription, event, reported: info.attempts ?? [] }, call)
    const traffic = await trafficOf(deps, name, filter)
    const policy = policyOf(subscription)
    const kept = keptIn(info.attempts ?? [])
    const jobs = await jobsOf(all.attempts, () => deps.replaysTo(name))
    const { attempts, more } = newest(withJobs(withArrivals(all.attempts), jobs), filter, limit)
    const replays = event === undefined ? replaysIn(all.attempts, jobs) : undefined
    // Here, `more` is about the attempts.
    const { more: least, ...state } = info
    const shown = {
      ...state,
      ...defined({ least }),
      ...all,
      attempts,
      more,
      kept,
      ...defined({ replays }),
      traffic,
      policy,
    }
    const record = await deps.recordOf(name)
    if (!record) return shown
    const { given, at: createdAt, by: createdBy, updatedAt } = record
    return { ...shown, settings: maskedSettings(given), createdAt, createdBy, ...defined({ updatedAt }) }
  }
}

type Filter = {
  outcome?: 'ok' | 'failed' | 'open' | undefined
  job?: string | undefined
  since?: number | undefined
  until?: number | undefined
}

/** The newest attempts that a filter selects. `more`: whether there are others. */
function newest(all: readonly object[], filter: Filter, limit: number) {
  const { outcome, job, since = 0, until = Number.POSITIVE_INFINITY } = filter
  const wanted = (outcome === 'open' ? openAttempts(all) : all).filter((each) => {
    const attempt = Object(each)
    const isOutcome = outcome === undefined || 'reason' in each === (outcome !== 'ok')
    const isOfJob = job === undefined || attempt.job === job
    return isOutcome && isOfJob && attempt.at >= since && attempt.at < until
  })
  return { attempts: wanted.slice(0, limit), more: wanted.length > limit }
}

/** The ids of the jobs of replays, by their start, if some attempts belong to replays. */
async function jobsOf(attempts: readonly object[], replays: () => Promise<readonly LongJob[]>) {
  if (!attempts.some((each) => Object(each).since !== undefined)) return new Map<number, string>()
  return new Map((await replays()).map(({ id, startedAt }) => [startedAt, id]))
}

/** Adds to the attempts of a replay the id of its job. */
function withJobs(attempts: readonly object[], jobs: ReadonlyMap<number, string>): object[] {
  return attempts.map((each) => ({ ...each, ...defined({ job: jobs.get(Object(each).since) }) }))
}

/** The replays to which attempts belong, newest first: their start (Unix ms), and numbers of attempts. */
function replaysIn(attempts: readonly object[], jobs: ReadonlyMap<number, string>) {
  const counts = new Map<number, number>()
  for (const each of attempts) {
    const { since } = Object(each)
    if (jobs.has(since)) counts.set(since, (counts.get(since) ?? 0) + 1)
  }
  return [...counts]
    .toSorted(([a], [b]) => b - a)
    .map(([since, count]) => ({ since, count, ...defined({ job: jobs.get(since) }) }))
}

/** The numbers of attempts in the range of a filter, up to now, by default the last hour. */
async function trafficOf({ store, now }: { store: Store; now(): number }, name: string, filter: Filter) {
  const until = Math.min(filter.until ?? now(), now())
  const { since = until - HOUR } = filter
  return trafficIn(await createRecords(store.kv, name).traffic(now()), since, until)
}

/**
 * The attempts at an event, newest first, each with its request and answer if they are still kept
 * and the caller may read the event. `sent`: the body of the requests, if the event is retained.
 * `eventState`: its state, `unknown` for a caller who may not read the event and sees no attempt.
 */
async function attemptsAt(
  { store, now, replaysTo }: Pick<Parameters<typeof createShow>[0], 'store' | 'now' | 'replaysTo'>,
  {
    subscription,
    event,
    reported,
  }: { subscription: PushSubscription; event: string; reported: readonly object[] },
  call: Call,
) {
  const { name, topic, format } = subscription
  // The history of a message has attempts that the report does not have any more, of all pushes.
  const older = topic === MESSAGE_TOPIC ? await attemptsOf(store, [subscription], event, now()) : []
  const own = reported.filter((each) => Object(each).event === event)
  const isReported = (at: unknown) => own.some((each) => Object(each).at === at)
  const others = older
    .filter((each) => each.subscription === name && !isReported(each.at))
    .map(({ subscription: _, ...attempt }) => attempt)
  const { mayRead, retained } = await readEvent(store, { topic, id: event }, call)
  const exchanges = mayRead ? await createRecords(store.kv, name).exchanges(event) : []
  // The report keeps failed attempts longer than successful ones, so the history may have newer ones.
  const inOrder = [...own, ...others].toSorted((a, b) => Number(Object(b).at) - Number(Object(a).at))
  const attempts = inOrder.map((each) => {
    const { at, event: _, ...exchange } = exchanges.find(({ at }) => at === Object(each).at) ?? {}
    return at === undefined ? each : { ...each, exchange }
  })
  const eventState = await eventStateOf(store, subscription, {
    id: event,
    attempts,
    retained,
    replays: () => replaysTo(name),
    now: now(),
  })
  return { attempts, eventState, ...(retained && { sent: encodeEvent(retained, format).body.toString() }) }
}

/**
 * An event, if it is retained and the caller may read it. The gateway of a message that is not
 * retained is unknown, so a caller with access to some gateways may not read it.
 */
async function readEvent({ topics }: Store, place: { topic: string; id: string }, call: Call) {
  try {
    const retained = eventSchema.safeParse(await createShowEvent(topics).show(place, call)).data
    return { mayRead: true, retained }
  } catch (error) {
    const isForbidden = error instanceof TriviumError && error.code === 'forbidden'
    const isLimited = place.topic === MESSAGE_TOPIC && call.caller.gateways !== undefined
    return { mayRead: !isForbidden && !isLimited }
  }
}
