import { dirname } from 'node:path'
import { createKeptDeliveries } from '../../transports/deliveries/kept-deliveries.ts'
import type { Hosts } from '../../transports/registry.ts'
import { toJson } from '../core/json.ts'
import type { PublicHttp, TransportDeps } from '../core/transport.ts'
import { waitUntilSettled } from '../engine/dispatch-queue.ts'
import type { Queues } from '../features/bullmq/queues.ts'
import type { Notify } from '../features/notify/notify.ts'
import { createTakeOver } from '../features/pauses/take-over.ts'
import type { SkillManager } from '../runtime/manager.ts'
import { watchSkills } from '../runtime/watch-skills.ts'
import type { Foundation } from './foundation.ts'
import type { Roads } from './roads.ts'

/** Makes the function that returns the dependencies of a gateway by its name. */
export function createTransportDeps(
  base: Foundation,
  parts: {
    roads: Roads
    http: PublicHttp
    queues: Pick<Queues, 'server'>
    manager: Pick<SkillManager, 'invoke'>
    notify: Pick<Notify, 'outcomeFor'>
  },
): (gateway: string) => TransportDeps & Hosts {
  const { store, artifacts, access, refusals, note, log, now } = base
  const { roads, http, queues, manager, notify } = parts
  const { pauses, services } = roads
  const takeOver = createTakeOver({ pauses, service: services.pauses, record: base.audit.record, now })
  const keptDeliveries = createKeptDeliveries(now)
  return (gateway) => ({
    gateway,
    ...roads.forTransports,
    http,
    replies: roads.replies(gateway),
    queueServer: queues.server,
    artifacts,
    kv: store.kv,
    leases: store.leases,
    ask: async (skill, args, { from, timeout }) =>
      toJson(await manager.invoke(skill, args, { caller: access.callerOf({ gateway, from }), timeout })),
    modules: {
      // Only changes of code count: an app may write data files beside it.
      watch: (file, changed) => watchSkills([dirname(file)], changed, log, /\.[cm]?[jt]sx?$/),
    },
    listeners: roads.listeners(gateway),
    settled: async (id, timeout) =>
      notify.outcomeFor(id, (await waitUntilSettled(store, id, timeout))?.outcome),
    log: log.child({ gateway }),
    now,
    keptRefused: keptDeliveries(gateway),
    takeOver: (seen) => takeOver(gateway, seen),
    note: (messageId, what, detail) => note(messageId, { road: 'outbox', what, detail }),
    refused: (reason, what) => refusals.add(gateway, reason, what),
  })
}
