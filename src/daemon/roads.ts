import type { Config } from '../config/load-config.ts'
import type { Retention } from '../core/retention.ts'
import { createAccept } from '../engine/accept.ts'
import { DISPATCH_QUEUE } from '../engine/dispatch-queue.ts'
import { createEventsRoad } from '../engine/events-road.ts'
import { createListeners } from '../engine/listeners.ts'
import { createMaxDeliveries } from '../engine/max-deliveries.ts'
import type { Outbox } from '../engine/outbox.ts'
import { createReplyLog } from '../engine/submit.ts'
import { QUEUE as SUBSCRIPTIONS_QUEUE } from '../engine/subscription-runner.ts'
import { createHolding } from '../features/pauses/holding.ts'
import { createPauses, type Pauses } from '../features/pauses/pauses.ts'
import { SCHEDULES_QUEUE } from '../features/schedules/schedules.ts'
import { createSendLater } from '../features/send-later/send-later.ts'
import type { SkillManager } from '../runtime/manager.ts'
import type { Foundation } from './foundation.ts'
import { createRoadServices } from './road-services.ts'

/** Queues whose jobs can be paused. */
const PAUSABLE_QUEUES = { dispatch: DISPATCH_QUEUE, runs: [SCHEDULES_QUEUE, SUBSCRIPTIONS_QUEUE] }

/** Makes the pauses, which skills and roads share. */
export function makePauses({ router, ...base }: Foundation): Pauses {
  return createPauses({ ...base, routes: router.routes, queues: PAUSABLE_QUEUES })
}

/** The roads as transports and skills see them. */
export type Roads = ReturnType<typeof createRoads>

/** Maximum messages in memory between transports and the store. */
const MAX_PENDING = 20_000
/** Maximum dispatch backlog before new messages are refused. */
const MAX_BACKLOG = 1_000_000

/** Makes the entry points of the roads for transports and skills. They need no running workers. */
export function createRoads(
  base: Foundation,
  parts: {
    outbox: Outbox
    manager: Pick<SkillManager, 'permit' | 'permitPause'>
    pauses: Pauses
    /** The push attempts of a message's event. */
    pushed(messageId: string): Promise<readonly object[]>
  },
) {
  const { config, store, gateways, router, metrics, tracing, refusals, log, now } = base
  const { journal } = store
  const groupSettings = (topic: string, group: string) => settingsIn(config(), topic, group)
  const { events, ...groups } = createEventsRoad({
    ...base,
    permit: parts.manager.permit,
    groupSettings,
    retentionOf: (topic) => retentionIn(config().daemon.retention, topic),
  })
  const acceptance = createAccept({
    journal,
    accepted(gateway, { fresh, duplicates, deliveries }) {
      metrics.accepted(gateway, fresh, duplicates)
      refusals.accepted(gateway, deliveries)
    },
    refused: refusals.add,
    maxPending: MAX_PENDING,
    maxBacklog: MAX_BACKLOG,
  })
  const accept = tracing ? tracing.accept(acceptance.accept) : acceptance.accept
  const acceptAll = tracing ? tracing.acceptAll(acceptance.acceptAll) : acceptance.acceptAll
  const maxDeliveriesOf = (gateway: string) =>
    config().gateways.find(({ name }) => name === gateway)?.maxDeliveries
  const deliveries = createMaxDeliveries({ store, limitOf: maxDeliveriesOf, log, now })
  const { outbox } = parts
  const later = createSendLater({ store, outbox, unanswerable: gateways.unanswerable, log, now })
  const { pauses } = parts
  const holding = createHolding({ view: pauses.view, routes: router.routes, now })
  return {
    listeners: createListeners({ router, store, now }),
    accept: { ...acceptance, accept },
    /** The functions by which transports hand over messages. */
    forTransports: { accept, acceptAll },
    replies: (gateway: string) => createReplyLog(store, gateway),
    outbox,
    events,
    deliveries,
    groups,
    later,
    pauses,
    holding,
    refusals,
    services: createRoadServices(base, {
      outbox,
      pushed: parts.pushed,
      permitPause: parts.manager.permitPause,
      accept,
      events,
      deliveries,
      later,
      pauses,
      holding,
    }),
  }
}

/** The limits of a topic: its own, or those of the journal. */
function retentionIn({ journal, topics = {} }: Retention, topic: string) {
  return { ...journal, ...(Object.hasOwn(topics, topic) ? topics[topic] : undefined) }
}

/** The settings of a consumer group. Topics and groups can have names such as `constructor`. */
function settingsIn({ topics }: Config, topic: string, group: string) {
  const groups = Object.hasOwn(topics, topic) ? topics[topic]?.groups : undefined
  return groups && Object.hasOwn(groups, group) ? groups[group] : undefined
}
