import type { Call } from '../core/call.ts'
import type { Log } from '../core/log.ts'
import type { Store } from '../core/store.ts'
import { createDeclaredGroups } from './declared-groups.ts'
import { createEvents } from './events.ts'
import { createGroupDeliveries } from './group-deliveries.ts'
import { createGroupSettings, type GroupSettings } from './group-settings.ts'
import type { ReplayEvents } from './replay-events.ts'

/** The events road with the limits of its groups. */
export function createEventsRoad(deps: {
  store: Store
  /** Settings of a consumer group in routes.yaml. */
  groupSettings(topic: string, group: string): GroupSettings | undefined
  permit(skill: string, call: Call): Promise<void>
  /** How long (ms) events of a topic are kept, and how many. */
  retentionOf(topic: string): { maxAge: number; maxCount: number }
  replay: ReplayEvents
  log: Log
  now(): number
}) {
  const settings = createGroupSettings(deps.store, deps.groupSettings)
  const deliveries = createGroupDeliveries(deps)
  const declared = createDeclaredGroups(deps.store.topics, deps.log)
  return {
    settings,
    deliveries,
    declared,
    events: createEvents({ ...deps, settings, bury: deliveries.bury }),
  }
}
