import type { Call } from '../../core/call.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { Jobs, Journal } from '../../core/store.ts'
import type { SubscriptionInfo } from '../../core/subscription-info.ts'
import { DAY } from '../../core/units.ts'
import { defined } from '../../lib/defined.ts'
import { conversationLabels, labelKey } from './conversation-labels.ts'
import { type HeldCount, heldCounts, type PauseView } from './held-counts.ts'
import type * as operations from './operations.ts'
import { type EndedPause, gatewayOf, type Pause } from './records.ts'
import type { PauseService } from './service.ts'

/**
 * A pause in the result of `pause-list`, of any kind. `since` (Unix ms) is absent if unknown. `label`:
 * what people call it, such as the sender of a conversation.
 */
type Listed =
  | (Pause & HeldCount & { label?: string })
  | (EndedPause & { label?: string })
  | {
      kind: 'store' | 'subscription' | 'schedule'
      name: string
      label?: string
      since?: number
      by?: string
      reason?: string
      until?: number
    }

type ListedSchedule = {
  id: string
  name?: string | undefined
  paused?: { since: number } | undefined
}

/** The parts of the daemon that know of pauses. */
type Parts = {
  roads: { pauses: { view: PauseView & { endedSince(at: number): EndedPause[] } } }
  jobs: Pick<Jobs, 'held'>
  journal: Pick<Journal, 'search'>
  /** The start of the pause of the whole store (Unix ms), if it is paused. */
  storePausedSince(): Promise<number | undefined>
  push: { service: { list(): Promise<readonly Pick<SubscriptionInfo, 'name' | 'state' | 'paused'>[]> } }
  durable: { services: { schedules: { list(args: object, call: Call): Promise<readonly ListedSchedule[]> } } }
}

const NOTHING_HELD: HeldCount = { waiting: 0, messageIds: [], routes: [] }

/**
 * Adds `pause-list`: the pause of the store, pauses of dispatch, then paused subscriptions and
 * schedules.
 */
export function withPauseList(
  service: PauseService & Pick<ServiceOf<typeof operations.pauses>, 'run-cancel'>,
  { roads, jobs, journal, storePausedSince, push, durable }: Parts,
): ServiceOf<typeof operations.pauses> {
  return {
    ...service,
    async 'pause-list'({ ended }, call): Promise<Listed[]> {
      const { gateways } = call.caller
      const { view } = roads.pauses
      if (ended) return endedOf(view.endedSince(Date.now() - DAY), journal, gateways)
      const pauses = view.list()
      const [countOf, labels] = await Promise.all([
        heldCounts(jobs, view),
        conversationLabels(journal, pauses),
      ])
      const ofDispatch = pauses.map((pause) => ({
        ...pause,
        ...defined({ label: pause.kind === 'conversation' ? labels.get(labelKey(pause)) : undefined }),
        ...(countOf(pause) ?? NOTHING_HELD),
      }))
      const since = await storePausedSince()
      const ofStore: Listed[] = since === undefined ? [] : [{ kind: 'store', name: 'everything', since }]
      // A program limited to some gateways sees only their pauses, and that of the store.
      if (gateways)
        return [...ofStore, ...ofDispatch.filter((pause) => gateways.includes(gatewayOf(pause) ?? ''))]
      const [subscriptions, schedules] = await Promise.all([
        push.service.list(),
        durable.services.schedules.list({}, call),
      ])
      return [
        ...ofStore,
        ...ofDispatch,
        ...subscriptions.flatMap(pausedSubscription),
        ...schedules.flatMap(pausedSchedule),
      ]
    },
  }
}

/** Ended pauses, newest first; only those of `gateways`, if a program is limited to some. */
async function endedOf(
  ended: readonly EndedPause[],
  journal: Pick<Journal, 'search'>,
  gateways: readonly string[] | undefined,
): Promise<Listed[]> {
  const seen = ended.filter((pause) => !gateways || gateways.includes(gatewayOf(pause) ?? ''))
  const labels = await conversationLabels(journal, seen)
  return seen.toReversed().map((pause) => ({
    ...pause,
    ...defined({ label: pause.kind === 'conversation' ? labels.get(labelKey(pause)) : undefined }),
  }))
}

/** Number of entries of `pause-list` for an operator. */
export function pauseCount(of: {
  isStorePaused: boolean
  view: Pick<PauseView, 'list'>
  subscriptions: readonly Pick<SubscriptionInfo, 'state'>[]
  /** Number of paused schedules. */
  schedules: number
}): number {
  const subscriptions = of.subscriptions.filter(({ state }) => state === 'paused').length
  return (of.isStorePaused ? 1 : 0) + of.view.list().length + subscriptions + of.schedules
}

function pausedSubscription({
  name,
  state,
  paused,
}: Pick<SubscriptionInfo, 'name' | 'state' | 'paused'>): Listed[] {
  return state === 'paused' ? [{ kind: 'subscription', name, ...paused }] : []
}

function pausedSchedule({ id, name, paused }: ListedSchedule): Listed[] {
  return paused ? [{ kind: 'schedule', name: id, ...paused, ...defined({ label: name }) }] : []
}
