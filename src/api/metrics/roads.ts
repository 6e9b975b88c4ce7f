import type { StoreStats } from '../../core/store.ts'
import type { SubscriptionInfo } from '../../core/subscription-info.ts'
import { type Pull, sumOfPulls } from '../../engine/pulls.ts'
import { queueOf } from '../../features/push/records.ts'

/**
 * Counts per road: retained messages of the journal, unfinished dispatch jobs, messages that wait
 * for workers or are leased to them, and the jobs of other queues. `oldestAt`: Unix ms.
 */
export function roadsOf({ journal, dispatch, receive, jobs }: StoreStats) {
  const queues = jobs.map(({ queue: road, waiting, running, dead, oldestAt }) => {
    return { road, messages: waiting + running, waiting, running, dead, oldestAt }
  })
  const none = { messages: 0, waiting: 0, running: 0, dead: 0, oldestAt: undefined }
  const own = queues.find(({ road }) => road === 'dispatch') ?? none
  // Jobs of this queue are dead letters: messages that exceeded `max-deliveries`.
  const { dead } = queues.find(({ road }) => road === 'receive') ?? none
  return [
    { road: 'journal', ...journal },
    {
      ...own,
      road: 'dispatch',
      messages: own.messages + dispatch.unpumped,
      waiting: own.waiting + dispatch.unpumped,
      // Queued messages are older than those not queued yet.
      oldestAt: own.oldestAt ?? dispatch.oldestAt,
    },
    {
      road: 'receive',
      messages: receive.ready + receive.leased,
      waiting: receive.ready,
      leased: receive.leased,
      oldestAt: receive.oldestAt,
      lost: receive.lost,
      ...(dead > 0 && { dead }),
    },
    ...queues.filter(({ road }) => road !== 'dispatch' && road !== 'receive'),
  ]
}

type Push = Pick<SubscriptionInfo, 'name' | 'waiting' | 'oldestAt' | 'dead'>

/**
 * The roads of push subscriptions as their own state has them: with the unread events that they will
 * send, and since when the oldest one waits.
 */
export function withPushes<T extends { road: string; running?: number }>(
  roads: readonly T[],
  pushes: readonly Push[],
) {
  const known = new Set(roads.map(({ road }) => road))
  const others = pushes.filter(({ name, waiting }) => waiting > 0 && !known.has(queueOf(name)))
  return [
    ...roads.map((road) => {
      const push = pushes.find(({ name }) => queueOf(name) === road.road)
      return push ? { ...road, ...pushRoad(push, road.running) } : road
    }),
    ...others.map((push) => pushRoad(push)),
  ]
}

function pushRoad({ name, waiting: messages, oldestAt, dead }: Push, running = 0) {
  const waiting = Math.max(0, messages - running)
  return { road: queueOf(name), messages, waiting, running, dead, oldestAt }
}

/** Adds to the dispatch road the number of messages that pauses hold back, if there are any. */
export function withHeld<T extends { road: string }>(
  roads: readonly T[],
  held: number,
): (T & { held?: number })[] {
  return roads.map((road) => (road.road === 'dispatch' && held > 0 ? { ...road, held } : road))
}

/**
 * Adds to the receive road the messages that are not pulled yet, of gateways that workers use. The
 * road itself counts the messages of all gateways, also those that only skills handle.
 */
export function withPulls<T extends { road: string }>(roads: readonly T[], pulls: readonly Pull[]) {
  if (pulls.length === 0) return [...roads]
  return roads.map((road) => (road.road === 'receive' ? { ...road, pulled: sumOfPulls(pulls) } : road))
}
