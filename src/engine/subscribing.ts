import type { Call } from '../core/call.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { groupOf, ownGroup } from './event-access.ts'
import type { createGroupSettings } from './group-settings.ts'
import type { events } from './operations/events.ts'
import type { createSubscriptions } from './subscriptions.ts'

/**
 * Creates and removes consumer groups, with their settings and the skills that their events run.
 */
export function createSubscribing(deps: {
  topics: Pick<Store['topics'], 'subscribe' | 'unsubscribe'>
  settings: ReturnType<typeof createGroupSettings>
  subscriptions: ReturnType<typeof createSubscriptions>
  permit(skill: string, call: Call): Promise<void>
}) {
  const { topics, settings, subscriptions, permit } = deps
  /**
   * By the id of the outermost invocation: the topics on which it, or one inside it, subscribed
   * without naming a group.
   */
  const own = new Map<string, Set<string>>()

  return {
    async subscribe({ topic, queue, replay, ref, match, maxDeliveries }, call) {
      const group = groupOf({ topic, queue, ref }, call)
      if (ref !== undefined) await permit(ref, call)
      await settings.set(topic, group, defined({ match, maxDeliveries }))
      const { created } = await topics.subscribe(topic, group, replay ? 'start' : 'now')
      const { kind, id } = call.caller
      if (ref !== undefined) await subscriptions.add({ topic, group, ref, by: { kind, ...defined({ id }) } })
      const isOwn = queue === undefined && ref === undefined
      // The group of a call from outside (depth 0) is not released: its caller reads the group
      // afterwards.
      if (isOwn && call.depth > 0) {
        own.set(call.rootId, (own.get(call.rootId) ?? new Set()).add(topic))
      }
      return { topic, queue: group, created }
    },
    async unsubscribe({ topic, queue, ref }, call) {
      const group = groupOf({ topic, queue, ref }, call)
      const removed = await subscriptions.remove(ref, { topic, group })
      // The group does not run `ref`, so it stays.
      if (ref !== undefined && !removed) return { ok: false }
      const ok = await topics.unsubscribe(topic, group)
      await settings.remove(topic, group)
      return { ok }
    },
    /**
     * Removes the groups of a finished outermost invocation; most have none. Never rejects: unused
     * groups expire.
     */
    releaseOwn(rootId: string): Promise<unknown> | undefined {
      const known = own.get(rootId)
      if (!known) return undefined
      own.delete(rootId)
      const group = ownGroup(rootId)
      const ends = [...known].flatMap((topic) => [
        topics.unsubscribe(topic, group),
        settings.remove(topic, group),
      ])
      return Promise.allSettled(ends)
    },
  } satisfies Pick<ServiceOf<typeof events>, 'subscribe' | 'unsubscribe'> & Record<'releaseOwn', unknown>
}
