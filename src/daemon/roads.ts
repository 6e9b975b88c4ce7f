import type { Hosts } from '../../transports/registry.ts'
import type { Call } from '../core/call.ts'
import { createAccept } from '../engine/accept.ts'
import { asideJob } from '../engine/aside.ts'
import { DISPATCH_QUEUE } from '../engine/dispatch-queue.ts'
import { createEventsRoad } from '../engine/events-road.ts'
import { createMaxDeliveries } from '../engine/max-deliveries.ts'
import type { Outbox } from '../engine/outbox.ts'
import { createReplyLog } from '../engine/submit.ts'
import { createPauses } from '../features/pauses/pauses.ts'
import { SCHEDULES_QUEUE } from '../features/schedules/schedules.ts'
import { createSendLater } from '../features/send-later/send-later.ts'
import type { Foundation } from './foundation.ts'
import { createRoadServices } from './road-services.ts'

/** Queues whose jobs can be paused. */
const PAUSED_QUEUES = { dispatch: DISPATCH_QUEUE, schedules: SCHEDULES_QUEUE }

/** The roads as transports and skills see them. */
export type Roads = ReturnType<typeof createRoads>

/** Maximum messages in memory between transports and the store. */
const MAX_PENDING = 20_000
/** Maximum dispatch backlog before new messages are refused. */
const MAX_BACKLOG = 1_000_000

/** Makes the entry points of the roads on a store. They need no running parts. */
export function createRoads(
  base: Foundation,
  parts: {
    outbox: Outbox
    /** Throws if the call may not invoke a skill. */
    permit(skill: string, call: Call): Promise<void>
    /** The push attempts of a message's event. */
    pushed(messageId: string): Promise<readonly object[]>
  },
) {
  const { config, store, gateways, router, metrics, tracing, refusals, log, now } = base
  const { journal } = store
  const groupSettings = (topic: string, group: string) => config().topics[topic]?.groups[group]
  const { events, ...groups } = createEventsRoad({ ...base, ...parts, groupSettings })
  const door = createAccept({
    journal,
    accepted(gateway, duplicate) {
      metrics.accepted(gateway, duplicate)
      refusals.accepted(gateway)
    },
    refused: refusals.add,
    maxPending: MAX_PENDING,
    maxBacklog: MAX_BACKLOG,
  })
  const accept = tracing ? tracing.accept(door.accept) : door.accept
  const acceptAll = tracing ? tracing.acceptAll(door.acceptAll) : door.acceptAll
  const limitOf = (gateway: string) => config().gateways.find(({ name }) => name === gateway)?.maxDeliveries
  const deliveries = createMaxDeliveries({ store, limitOf, log, now })
  const { outbox } = parts
  const later = createSendLater({ store, outbox, unanswerable: gateways.unanswerable, log, now })
  const pauses = createPauses({ store, routes: router.routes, queues: PAUSED_QUEUES, log, now })
  const listeners: Hosts['listeners'] = {
    async call(route, message) {
      await store.jobs.add(DISPATCH_QUEUE, [asideJob(route, message, Date.now())])
    },
    accepted: journal.get,
  }
  return {
    listeners,
    accept: { ...door, accept },
    /** For transports. */
    doors: { accept, acceptAll },
    replies: (gateway: string) => createReplyLog(store, gateway),
    outbox,
    events,
    deliveries,
    groups,
    later,
    pauses,
    refusals,
    services: createRoadServices(base, { ...parts, accept, events, deliveries, later, pauses }),
  }
}
