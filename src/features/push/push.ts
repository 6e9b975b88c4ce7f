import type { Caller } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import type { LongJob } from '../../core/long-job.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { SubscriptionInfo } from '../../core/subscription-info.ts'
import type { ReplayEvents } from '../../engine/replay-events.ts'
import { retainedEvent } from '../../engine/show-event.ts'
import { didYouMean } from '../../lib/nearest.ts'
import { createControlling } from './controlling.ts'
import { createEnding } from './ending.ts'
import { eventStateOf } from './event-state.ts'
import { createItemStates } from './item-states.ts'
import { attemptsOf, lastReasonOf, listSubscriptions } from './listing.ts'
import { createManaging } from './managing.ts'
import type * as operations from './operations.ts'
import { createRecords, queueOf } from './records.ts'
import { withReplayOutcomes } from './replay-outcomes.ts'
import { createReplayedJobs } from './replayed-jobs.ts'
import { createReplaying } from './replaying.ts'
import type { PushSubscription } from './schema.ts'
import type { ServeDeps } from './serve.ts'
import { createServing } from './serving.ts'
import { createShow } from './show.ts'
import { type KnownNames, secretsIn } from './stored-settings.ts'
import { createStoredSubscriptions } from './stored-subscriptions.ts'
import { undeliveredEventsOf } from './undelivered-events.ts'
import { type AskedBy, createUnreadCounts } from './unread.ts'
import { waitingEventsOf } from './waiting-events.ts'
import { waitingOfMessages } from './waiting-of-messages.ts'
import { createWithdrawing } from './withdrawing.ts'

export type PushDeps = ServeDeps & {
  /** Redelivers consumed events to the group of a subscription. */
  replay: ReplayEvents
  /** Names that the `match` of a call may refer to. */
  known(): KnownNames
  /** Called with the secrets of stored subscriptions, to redact them in logs. */
  hide(secrets: readonly string[]): void
}

/**
 * Push subscriptions from routes.yaml (`use`) and from `subscription-create`. Serves them between
 * `start` and `stop`.
 */
export function createPush(deps: PushDeps) {
  const { store, now } = deps
  const stored = createStoredSubscriptions(store.kv)
  const ending = createEnding({ ...deps, stored })
  const serving = createServing({
    ...deps,
    stored,
    ending,
    changed: (all) => deps.hide(Object.values(all).flatMap(({ given }) => secretsIn(given))),
  })
  const { all } = serving
  const names = () => all().map(({ name }) => name)
  const counts = countsOf(deps)
  const list = (shown = all(), by: AskedBy = 'status') =>
    listSubscriptions(store, shown, { ...serving, ...counts, by }, now())
  deps.replay.describe(async (jobs) => withReplayOutcomes(store, await list(), jobs, now()))
  const isPush = (topic: string, group: string) =>
    all().some((each) => each.name === group && each.topic === topic)
  connectReplay(deps, isPush, (name) => names().includes(name))
  const find = (name: string) => {
    const found = all().find((each) => each.name === name)
    if (!found) throw new TriviumError('subscription_not_found', { name, hint: didYouMean(name, names()) })
    return { subscription: found, topic: found.topic }
  }

  const replaysTo = async (name: string) =>
    (await deps.replay.jobs()).filter(({ target }) => target.subscription === name)
  const waitingOf = async (name: string) => (await list([find(name).subscription], 'show'))[0]?.waiting ?? 0
  const named = (name: string) => all().filter((each) => each.name === name)
  const lostWith = createLostWith(ending, (name) => list(named(name), 'show'))
  const service = {
    ...createManaging({
      ...deps,
      ...serving,
      stored,
      ending,
      names,
      lostWith,
      records: (name) => createRecords(store.kv, name),
    }),
    ...createControlling({ store, requireKnown: find, waitingOf, now }),
    list: async () => (await list()).map(({ attempts: _, ...info }) => info),
    ...createLooks({
      store,
      now,
      replaysTo,
      find: (name) => find(name).subscription,
      list: async (subscription) => (await list([subscription], 'show'))[0],
      recordOf: async (name) => (serving.isInFile(name) ? undefined : (await stored.all())[name]),
    }),
    replay: createReplaying(deps, find),
  } satisfies ServiceOf<typeof operations.subscriptions>

  return {
    service,
    /** The filter of the subscription that reads a topic as a group, if any. */
    matchOf: (topic: string, group: string) =>
      all().find((each) => each.name === group && each.topic === topic)?.match,
    /** Whether a subscription reads a topic as the group. */
    isPush,
    /** The state of the event of a message; see `eventStateOf`. */
    stateOf: createStateOf(deps, (name) => find(name).subscription, replaysTo),
    /** The first events of a replay that are not delivered. */
    undeliveredEventsOf: (job: LongJob, caller: Caller) => undeliveredEventsOf(store, job, caller),
    /** What became of events of a replay. */
    itemStates: createItemStates(store),
    ...ofMessages(deps, all),
    /**
     * Applies the subscriptions of routes.yaml, beside the stored ones. Resolves once their groups
     * exist; events from then on are pushed.
     */
    use: async (next: readonly PushSubscription[]): Promise<void> => void (await serving.use(next)),
    warnings: serving.warnings,
    start: serving.start,
    stop: serving.stop,
  }
}

/** Makes `subscription-show` and `subscription-waiting`. */
function createLooks(
  deps: Parameters<typeof createShow>[0],
): Pick<ServiceOf<typeof operations.subscriptions>, 'show' | 'waiting'> {
  return {
    show: createShow(deps),
    waiting: ({ name, ...asked }, { caller }) => {
      const subscription = deps.find(name)
      return waitingEventsOf(
        deps.store,
        { ...asked, subscription, list: () => deps.list(subscription) },
        caller,
      )
    },
  }
}

/** What the parts that show messages ask about pushes. */
function ofMessages({ store, now }: Pick<PushDeps, 'store' | 'now'>, all: () => readonly PushSubscription[]) {
  return {
    /** What each push has still to send of these messages. */
    waitingOf: (messages: ReadonlySet<string>) => waitingOfMessages(store, all(), messages),
    /** Why the last failed attempt of a push failed. */
    lastReasonOf: async (name: string) =>
      lastReasonOf((await createRecords(store.kv, name).report()).attempts),
    attemptsOf: (messageId: string) => attemptsOf(store, all(), messageId, now()),
  }
}

function countsOf({ store, replay }: Pick<PushDeps, 'store' | 'replay'>) {
  return { unreadOf: createUnreadCounts(store), replayedJobs: createReplayedJobs(store, replay.jobs) }
}

/** What is lost when a push is deleted. */
function createLostWith(
  ending: Pick<ReturnType<typeof createEnding>, 'count'>,
  list: (name: string) => Promise<readonly Pick<SubscriptionInfo, 'waiting' | 'dead'>[]>,
) {
  return async (name: string, topic: string) => {
    const [info] = await list(name)
    return info ? { waiting: info.waiting, dead: info.dead } : ending.count(name, topic)
  }
}

function createStateOf(
  { store, now }: Pick<PushDeps, 'store' | 'now'>,
  find: (name: string) => PushSubscription,
  replaysTo: (name: string) => Promise<readonly LongJob[]>,
) {
  return async (name: string, id: string, attempts: readonly object[]) => {
    const subscription = find(name)
    const retained = await retainedEvent(store.topics, subscription.topic, id)
    const replays = () => replaysTo(name)
    return eventStateOf(store, subscription, { id, attempts, retained, replays, now: now() })
  }
}

/** Tells replays where events of a push wait as jobs, and how to withdraw them. */
function connectReplay(
  { store, replay }: Pick<PushDeps, 'store' | 'replay'>,
  isPush: (topic: string, group: string) => boolean,
  isKnown: (name: string) => boolean,
): void {
  replay.findPushQueue((topic, group) =>
    isPush(topic, group) ? { queue: queueOf(group), prefix: `${queueOf(group)}/` } : undefined,
  )
  replay.withdrawFromPush(createWithdrawing(store, isKnown))
}
