import { isDeepStrictEqual } from 'node:util'
import { AUDIT_TOPIC } from '../core/audit.ts'
import type { Call } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { type Event, isForOperators, LOG_TOPIC, MESSAGE_TOPIC, REPLY_TOPICS } from '../core/event.ts'
import { isOperator } from '../core/identity.ts'
import type { Services } from '../core/services.ts'
import type { Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { waitFor } from '../lib/wait-for.ts'
import type { GroupDeliveries } from './group-deliveries.ts'
import { createGroupReader } from './group-reader.ts'
import type { createGroupSettings, GroupSettings } from './group-settings.ts'
import type { ReplayEvents } from './replay-events.ts'
import { createSubscriptions } from './subscriptions.ts'
import { createTopicTail } from './topic-tail.ts'

/** The events road: every group sees every event; a peek (`ack: false`) consumes none. `permit` throws where a skill may not be run. */
export function createEvents(deps: {
  store: Pick<Store, 'topics' | 'kv' | 'journal' | 'onSignal'>
  settings: ReturnType<typeof createGroupSettings>
  /** Makes dead letters of events that a group was given too often. */
  bury: GroupDeliveries['bury']
  permit(skill: string, call: Call): Promise<void>
  replay: ReplayEvents
  now(): number
}) {
  const { store, settings, permit, now } = deps
  const subscriptions = createSubscriptions(store, now)
  const { topics } = store
  const reader = createGroupReader(deps)
  /** The topics of which an invocation that runs here has groups of its own. */
  const own = new Map<string, Set<string>>()

  const tail = createTopicTail(store)
  const settingsFor = createSettingsFor(topics, settings)

  return {
    async emit({ topic, type, data }, call) {
      refuseForeign(topic)
      const [id] = await topics.publish(topic, [
        { type: type ?? 'event', source: emitterOf(call), data, rootContextId: call.rootId },
      ])
      if (!id) throw new TriviumError('internal', { reason: `the store gave no id for an event on ${topic}` })
      return { id }
    },
    async subscribe({ topic, queue, replay, ref, match, maxDeliveries }, call) {
      const group = groupOf({ topic, queue, ref }, call)
      if (ref !== undefined) await permit(ref, call)
      await settings.set(topic, group, defined({ match, maxDeliveries }))
      const { created } = await topics.subscribe(topic, group, replay ? 'start' : 'now')
      const { kind, id } = call.caller
      if (ref !== undefined) await subscriptions.add({ topic, group, ref, by: { kind, ...defined({ id }) } })
      // Whose call was nothing but this one comes back with the name of the group.
      if (queue === undefined && ref === undefined && call.depth > 0) {
        own.set(call.rootId, (own.get(call.rootId) ?? new Set()).add(topic))
      }
      return { topic, queue: group, created }
    },
    async unsubscribe({ topic, queue, ref }, call) {
      const group = groupOf({ topic, queue, ref }, call)
      const removed = await subscriptions.remove(ref, { topic, group })
      // The group serves another ref, or none: what was asked for is not there.
      if (ref !== undefined && !removed) return { ok: false }
      const ok = await topics.unsubscribe(topic, group)
      await settings.remove(topic, group)
      return { ok }
    },
    ...createMoves(topics, deps.replay),
    async wait(args, call) {
      const group = groupOf(args, call)
      const grouped = args.queue !== undefined || (await hasGroup(topics, args.topic, group))
      const bounds = grouped ? await settingsFor(args, group) : {}
      const readNext = grouped ? undefined : await tail(args)
      const events = await waitFor<Event[]>({
        attempt: () => readNext?.() ?? reader.next(args, group, bounds),
        watch: (wake) => store.onSignal(`topic:${args.topic}`, wake),
        timeout: args.timeout,
        signal: call.signal,
      })
      return events ?? []
    },
    async ack({ topic, queue, ids, nack, delay }, call) {
      groupOf({ topic, queue }, call)
      const count = nack ? await topics.nack(topic, queue, ids, delay) : await topics.ack(topic, queue, ids)
      if (count === 0 && !(await hasGroup(topics, topic, queue))) {
        throw new TriviumError('group_not_found', { group: queue, topic })
      }
      return { count }
    },
    async extend({ topic, queue, ids, lease }, call) {
      groupOf({ topic, queue }, call)
      const count = await topics.extend(topic, queue, ids, lease)
      if (count === 0 && !(await hasGroup(topics, topic, queue))) {
        throw new TriviumError('group_not_found', { group: queue, topic })
      }
      return { count }
    },
    /** Ends the groups of an outermost invocation that is over. Never rejects: what stays behind expires with disuse. */
    async releaseOwn(rootId: string) {
      const known = own.get(rootId)
      if (!own.delete(rootId)) return
      const group = ownGroup(rootId)
      const ends = [...(known ?? [])].flatMap((topic) => [
        topics.unsubscribe(topic, group),
        settings.remove(topic, group),
      ])
      await Promise.allSettled(ends)
    },
  } satisfies Services['events'] & Record<'releaseOwn', unknown>
}

/** Other places for a group. */
function createMoves(topics: Store['topics'], replay: ReplayEvents) {
  return {
    async seek({ topic, queue, to }, call) {
      groupOf({ topic, queue }, call)
      if (!(await topics.seek(topic, queue, to)))
        throw new TriviumError('group_not_found', { group: queue, topic })
      return { ok: true }
    },
    async replay({ topic, queue, ...range }, call) {
      groupOf({ topic, queue }, call)
      return { job: await replay({ topic, group: queue, range }, call) }
    },
  } satisfies Pick<Services['events'], 'seek' | 'replay'>
}

/** Who publishes: the skill that asked for it, else the gateway of the message, the token, or the way in. */
function emitterOf({ by, message, caller: { kind, id = kind, skills } }: Call): string {
  const isNamed = skills !== undefined || kind === 'route' || kind === 'code'
  return by ?? message?.gateway ?? (isNamed ? id : kind)
}

type WaitArgs = Parameters<Services['events']['wait']>[0]

/** The settings of a group that a call reads. Throws `group_filter` where the group has another filter than the call. */
function createSettingsFor(topics: Store['topics'], settings: ReturnType<typeof createGroupSettings>) {
  return async ({ topic, queue, match }: WaitArgs, group: string): Promise<GroupSettings> => {
    const found = await settings.of(topic, group)
    if (match === undefined || isDeepStrictEqual(match, found.match)) return found
    // Nobody else reads the group of an invocation.
    if (queue === undefined) return { ...found, match }
    if (found.match === undefined && !(await hasGroup(topics, topic, group))) {
      await settings.set(topic, group, { match })
      return { ...found, match }
    }
    const has = found.match === undefined ? 'no filter' : 'another filter'
    throw new TriviumError('group_filter', { group, topic, has })
  }
}

/** How the groups begin that a named queue must not look like. */
const OWN = '~'
/** The roots of calls from outside. Nobody else knows them, so that the name of such a group is the right to it. */
const OUTSIDE = /^(http|cli|mcp)-[0-9a-f]{8}-[0-9a-f-]{27}$/

/** True for a group that outlives the invocation that made it. */
export function isLasting(group: string): boolean {
  return !group.startsWith(OWN) && !OUTSIDE.test(group)
}

function ownGroup(rootId: string): string {
  return OUTSIDE.test(rootId) ? rootId : `${OWN}${rootId}`
}

type Meant = { topic: string; queue?: string | undefined; ref?: string | undefined }

/**
 * The group that a call means. Without `queue` it is that of its invocation; with a `ref` that of the person, so that the
 * same again is the same subscription. Throws `forbidden` for another's, except to operators, and `topic_reserved`.
 */
function groupOf({ topic, queue, ref }: Meant, { rootId, caller }: Call): string {
  refuseInternal(topic)
  const mayAll = isOperator(caller)
  if (isForOperators(topic) && !mayAll)
    throw new TriviumError('forbidden', { what: `Topic ${topic}`, reason: 'it is for operators' })
  const who = mayAll ? 'operator' : (caller.id ?? '')
  const own = ref === undefined ? ownGroup(rootId) : `${OWN}ref:${ref}:${who}`
  if (queue === undefined || queue === own || !queue.startsWith(OWN)) return queue ?? own
  if (mayAll) return queue
  throw new TriviumError('forbidden', {
    what: `The consumer group ${queue}`,
    reason: 'names with ~ belong to their callers',
  })
}

/** What only the daemon writes. */
function refuseForeign(topic: string): void {
  if (topic === MESSAGE_TOPIC || isForOperators(topic)) throw new TriviumError('topic_reserved', { topic })
  refuseInternal(topic)
}

function refuseInternal(topic: string): void {
  if (topic === LOG_TOPIC || topic === AUDIT_TOPIC || topic.startsWith(REPLY_TOPICS))
    throw new TriviumError('topic_reserved', { topic })
}

async function hasGroup(topics: Store['topics'], topic: string, group: string): Promise<boolean> {
  const [batch] = await topics.read(topic, [{ group, max: 1, mode: 'peek' }])
  return batch !== undefined
}
